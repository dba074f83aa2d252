#include <array>
#include <utility>

#include "base/text.h"
#include "json/json.h"
#include "qtool/answers/answer.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxDetectorBytes = std::int64_t{1} << 16;
constexpr std::string_view kSoftmax = "softmax";

template <typename Enum, std::size_t count>
Enum enumerator_of(const JsonField& field,
                   const std::array<std::pair<std::string_view, Enum>, count>& names) {
  const std::string found = field.as_string();
  std::vector<std::string> words;
  for (const auto& [name, value] : names) {
    if (name == found) return value;
    words.emplace_back(name);
  }
  field.fail(alternatives(words));
}

BoxForm form_of(const JsonField& field) {
  return enumerator_of<BoxForm, 4>(field, {{{"centre", BoxForm::kCentre},
                                            {"corners", BoxForm::kCorners},
                                            {"corners_yx", BoxForm::kCornersYx},
                                            {"distances", BoxForm::kDistances}}});
}

BoxFunction function_of(const JsonField& field) {
  return enumerator_of<BoxFunction, 4>(field, {{{"none", BoxFunction::kNone},
                                                {"sigmoid", BoxFunction::kSigmoid},
                                                {"tanh", BoxFunction::kTanh},
                                                {"exp", BoxFunction::kExp}}});
}

BoxUnit unit_of(const JsonField& field) {
  return enumerator_of<BoxUnit, 3>(
      field,
      {{{"pixels", BoxUnit::kPixels}, {"share", BoxUnit::kShare}, {"cells", BoxUnit::kCells}}});
}

void read_rows(const JsonField& object, AnchorRows& rows) {
  if (const auto axis = object.find("channels")) {
    rows.axis = enumerator_of<ChannelAxis, 2>(
        *axis, {{{"last", ChannelAxis::kLast}, {"first", ChannelAxis::kFirst}}});
  }
  const auto outputs = object.find("outputs");
  if (!outputs) return;
  rows.outputs.clear();
  for (const JsonField& output : outputs->elements()) {
    if (output.is_string()) {
      rows.outputs.emplace_back(output.as_string());
    } else {
      rows.outputs.emplace_back(output.as_int(0, kMaxDetectorOutputs - 1));
    }
  }
}

void read_scale(const JsonField& object, BoxScale& scale) {
  object.require_object({"function", "unit"});
  if (const auto function = object.find("function")) scale.function = function_of(*function);
  if (const auto unit = object.find("unit")) scale.unit = unit_of(*unit);
}

void read_boxes(const JsonField& object, Detector& detector) {
  object.require_object({"outputs", "channels", "first", "form", "position", "size"});
  read_rows(object, detector.boxes);
  if (const auto first = object.find("first")) {
    detector.first_box_channel = first->as_int(0, kMaxDetectorChannels);
  }
  if (const auto form = object.find("form")) detector.form = form_of(*form);
  if (const auto position = object.find("position")) read_scale(*position, detector.position);
  const auto size = object.find("size");
  if (!size) return;
  if (detector.form != BoxForm::kCentre) size->fail("no size unless the form is \"centre\"");
  read_scale(*size, detector.size);
}

double power_of(const JsonField& object, double otherwise) {
  const auto power = object.find("power");
  return power ? power->as_double(0.01, 100.0) : otherwise;
}

void read_scores(const JsonField& object, Detector& detector) {
  object.require_object({"outputs", "channels", "first", "count", "background_last", "label",
                         "function", "power", "objectness"});
  read_rows(object, detector.scores);
  if (const auto first = object.find("first")) {
    detector.first_class_channel = first->as_int(0, kMaxDetectorChannels);
  }
  if (const auto count = object.find("count")) {
    detector.class_count = count->as_int(1, kMaxDetectorChannels);
  }
  if (const auto last = object.find("background_last")) detector.background_last = last->as_bool();
  if (const auto label = object.find("label")) {
    detector.label_channel = label->as_int(0, kMaxDetectorChannels);
  }
  if (const auto function = object.find("function")) {
    detector.class_softmax = function->is_string() && function->as_string() == kSoftmax;
    if (!detector.class_softmax) detector.class_function = function_of(*function);
  }
  detector.class_power = power_of(object, detector.class_power);
  const auto objectness = object.find("objectness");
  if (!objectness) return;
  objectness->require_object({"channel", "function", "power"});
  Objectness read;
  read.channel = objectness->at("channel").as_int(0, kMaxDetectorChannels);
  if (const auto function = objectness->find("function")) read.function = function_of(*function);
  read.power = power_of(*objectness, read.power);
  detector.objectness = read;
}

void read_grid(const JsonField& object, Detector& detector) {
  object.require_object({"levels", "offset"});
  for (const JsonField& level : object.at("levels").elements()) {
    level.require_object({"stride", "per_cell"});
    GridLevel read;
    read.stride = level.at("stride").as_int(1, 16384);
    if (const auto per_cell = level.find("per_cell")) read.per_cell = per_cell->as_int(1, 1024);
    detector.grid.push_back(read);
  }
  if (const auto offset = object.find("offset")) {
    detector.grid_offset = offset->as_double(-16.0, 16.0);
  }
}

}  // namespace

Detector detector_from_json(std::string_view text, std::string_view name) {
  const std::string what = to_text("detector '", name, "'");
  const nlohmann::json document = parse_json(text, kMaxDetectorBytes, what, ErrorCode::kUsage);
  const JsonField root(document, what, ErrorCode::kUsage);
  root.require_object({"either_order", "boxes", "scores", "grid", "thresholds", "nms_iou"});
  Detector detector;
  detector.name = name;
  if (const auto order = root.find("either_order")) detector.either_order = order->as_bool();
  read_boxes(root.at("boxes"), detector);
  read_scores(root.at("scores"), detector);
  if (const auto grid = root.find("grid")) read_grid(*grid, detector);
  if (const auto thresholds = root.find("thresholds")) {
    detector.thresholds.clear();
    for (const JsonField& threshold : thresholds->elements()) {
      detector.thresholds.push_back(threshold.as_double(0.0, 1.0));
    }
  }
  if (const auto iou = root.find("nms_iou")) detector.nms_iou = iou->as_double(0.0, 1.0);
  check(detector);
  return detector;
}

}  // namespace qtool
