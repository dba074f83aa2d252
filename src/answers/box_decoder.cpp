#include "answers/box_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "answers/suppress_boxes.h"
#include "base/did_you_mean.h"
#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

[[noreturn]] void mismatch(const Detector& detector, const std::string& sentence) {
  throw Error(ErrorCode::kMismatch, to_text("detector '", detector.name, "': ", sentence));
}

double applied(BoxFunction function, double x) {
  switch (function) {
    case BoxFunction::kNone:
      return x;
    case BoxFunction::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case BoxFunction::kTanh:
      return std::tanh(x);
    case BoxFunction::kExp:
      return std::exp(x);
  }
  return x;
}

double powered(double x, double power) { return power == 1.0 ? x : std::pow(x, power); }

std::size_t output_of(const Detector& detector, const OutputChoice& choice,
                      std::span<const PortInfo> outputs) {
  if (const auto* position = std::get_if<std::int64_t>(&choice)) {
    if (*position < std::ssize(outputs)) return static_cast<std::size_t>(*position);
    mismatch(detector,
             to_text("reads output ", *position, " (from 0), the network has ", outputs.size()));
  }
  const auto& name = std::get<std::string>(choice);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name) return i;
    names.push_back(outputs[i].name);
  }
  mismatch(detector, to_text("the network has no output '", name, "'", did_you_mean(name, names)));
}

bool is_better(double score_a, std::int64_t row_a, double score_b, std::int64_t row_b) {
  return score_a != score_b ? score_a > score_b : row_a < row_b;
}

}  // namespace

BoxDecoder::BoxDecoder(Detector detector, std::span<const PortInfo> outputs, const Shape& input,
                       ChannelAxis channels, double lowest_score)
    : detector_(std::move(detector)) {
  check(detector_);
  if (input.rank() != 4) {
    mismatch(detector_,
             to_text("the network's input has shape ", input.to_string(), ", expected an image"));
  }
  const std::int64_t rows_axis = channels == ChannelAxis::kFirst ? 2 : 1;
  batch_ = input[0];
  height_ = static_cast<double>(input[rows_axis]);
  width_ = static_cast<double>(input[rows_axis + 1]);
  if (detector_.either_order) order_outputs(outputs);
  boxes_ = bind(detector_.boxes, outputs, detector_.first_box_channel + 3, "boxes");
  const std::int64_t background = detector_.background_last ? 1 : 0;
  std::int64_t last =
      detector_.first_class_channel + detector_.class_count.value_or(1) - 1 + background;
  if (detector_.objectness) last = std::max(last, detector_.objectness->channel);
  if (detector_.label_channel) last = std::max(last, *detector_.label_channel);
  scores_ = bind(detector_.scores, outputs, last, "scores");
  classes_ = detector_.class_count.value_or(scores_.front().channels -
                                            detector_.first_class_channel - background);
  if (detector_.label_channel) classes_ = 1;
  for (const Rows& rows : scores_) {
    if (rows.channels == scores_.front().channels) continue;
    mismatch(detector_, to_text("its outputs of scores have ", scores_.front().channels, " and ",
                                rows.channels, " channels, expected equal numbers"));
  }
  const auto total = [](const std::vector<Rows>& all) {
    std::int64_t count = 0;
    for (const Rows& rows : all) count += rows.count;
    return count;
  };
  const std::int64_t count = total(boxes_);
  if (count != total(scores_)) {
    mismatch(detector_, to_text("the network's outputs hold ", count, " boxes and ", total(scores_),
                                " scores"));
  }
  if (!detector_.grid.empty()) require_grid(count);
  floor_ = std::min(lowest_score, detector_.thresholds.front());
}

void BoxDecoder::order_outputs(std::span<const PortInfo> outputs) {
  const auto has_four = [&](const AnchorRows& rows) {
    const Shape& shape = outputs[output_of(detector_, rows.outputs.front(), outputs)].shape;
    const std::int64_t axis = rows.axis == ChannelAxis::kFirst ? 1 : shape.rank() - 1;
    return shape.rank() >= 2 && shape[axis] == 4;
  };
  if (has_four(detector_.boxes) || !has_four(detector_.scores)) return;
  std::swap(detector_.boxes.outputs, detector_.scores.outputs);
}

std::vector<BoxDecoder::Rows> BoxDecoder::bind(const AnchorRows& rows,
                                               std::span<const PortInfo> outputs,
                                               std::int64_t last_channel, const char* what) const {
  std::vector<Rows> bound;
  for (const OutputChoice& choice : rows.outputs) {
    Rows one;
    one.output = output_of(detector_, choice, outputs);
    const PortInfo& port = outputs[one.output];
    const Shape& shape = port.shape;
    const bool first = rows.axis == ChannelAxis::kFirst;
    if (shape.rank() < 2 || shape[0] != batch_ || shape.elements() == 0) {
      mismatch(detector_, to_text("output '", port.name, "' (", what, ") has shape ",
                                  shape.to_string(), ", expected ",
                                  first ? "[batch, channels, rows]" : "[batch, rows, channels]"));
    }
    one.channels = first ? shape[1] : shape[shape.rank() - 1];
    one.count = shape.elements() / batch_ / one.channels;
    one.row_step = first ? 1 : one.channels;
    one.channel_step = first ? one.count : 1;
    if (last_channel >= one.channels) {
      mismatch(detector_,
               to_text("output '", port.name, "' (", what, ") of shape ", shape.to_string(),
                       " has ", one.channels, " channels, expected at least ", last_channel + 1));
    }
    bound.push_back(one);
  }
  return bound;
}

void BoxDecoder::require_grid(std::int64_t rows) const {
  std::int64_t cells = 0;
  std::string strides;
  for (const GridLevel& level : detector_.grid) {
    cells += ceil_div(static_cast<std::int64_t>(width_), level.stride) *
             ceil_div(static_cast<std::int64_t>(height_), level.stride) * level.per_cell;
    strides += to_text(strides.empty() ? "" : ", ", level.stride);
  }
  if (cells == rows) return;
  mismatch(detector_, to_text("the network's outputs hold ", rows, " boxes, expected ", cells,
                              ": those of strides ", strides, " and an input of ", width_, "x",
                              height_, " pixels"));
}

const float* BoxDecoder::image_of(const Rows& rows, std::span<const TensorView> outputs,
                                  std::int64_t slot) {
  return outputs[rows.output].values<float>().data() + slot * rows.count * rows.channels;
}

double BoxDecoder::softmax_of(double x, const float* numbers, const Rows& rows) {
  double sum = 0.0;  // infinite where another number is much higher, so that the result is 0
  for (std::int64_t c = 0; c < rows.channels; ++c) {
    sum += std::exp(static_cast<double>(numbers[c * rows.channel_step]) - x);
  }
  return 1.0 / sum;
}

std::vector<BoxDecoder::Candidate> BoxDecoder::candidates(std::span<const TensorView> outputs,
                                                          std::int64_t slot) const {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return is_better(a.score, a.row, b.score, b.row);
  };
  std::vector<Candidate> found;
  const auto keep_best = [&] {
    if (std::ssize(found) <= kMaxCandidates) return;
    std::nth_element(found.begin(), found.begin() + kMaxCandidates, found.end(), better);
    found.resize(static_cast<std::size_t>(kMaxCandidates));
  };
  std::int64_t row = 0;
  for (const Rows& rows : scores_) {
    const float* image = image_of(rows, outputs, slot);
    for (std::int64_t i = 0; i < rows.count; ++i, ++row) {
      const float* numbers = image + i * rows.row_step;
      Candidate candidate;
      candidate.row = row;
      float highest = 0.0F;
      bool any = false;
      for (std::int64_t c = 0; c < classes_; ++c) {
        const float x = numbers[(detector_.first_class_channel + c) * rows.channel_step];
        if (std::isnan(x) || (any && x <= highest)) continue;
        highest = x;
        any = true;
        candidate.label = c;
      }
      if (!any) continue;
      if (const auto& channel = detector_.label_channel) {
        const auto label = static_cast<double>(numbers[*channel * rows.channel_step]);
        if (!(label >= 0.0 && label <= static_cast<double>(kMaxDetectorChannels))) continue;
        candidate.label = std::llround(label);
      }
      const double probability =
          detector_.class_softmax ? softmax_of(static_cast<double>(highest), numbers, rows)
                                  : applied(detector_.class_function, static_cast<double>(highest));
      candidate.score = powered(probability, detector_.class_power);
      if (const auto& object = detector_.objectness) {
        const auto x = static_cast<double>(numbers[object->channel * rows.channel_step]);
        candidate.score *= powered(applied(object->function, x), object->power);
      }
      // The test also refuses NaN, and scores above kFarthestCorner, so that every score fits in a
      // float.
      if (!(candidate.score >= floor_ && candidate.score <= kFarthestCorner)) continue;
      found.push_back(candidate);
      if (std::ssize(found) == 2 * kMaxCandidates) keep_best();
    }
  }
  keep_best();
  std::ranges::sort(found, better);
  return found;
}

std::optional<std::array<double, 4>> BoxDecoder::corners_of(std::int64_t row, const float* numbers,
                                                            std::int64_t step) const {
  double anchor_x = 0.0;
  double anchor_y = 0.0;
  double stride = 1.0;
  for (const GridLevel& level : detector_.grid) {
    const std::int64_t columns = ceil_div(static_cast<std::int64_t>(width_), level.stride);
    const std::int64_t lines = ceil_div(static_cast<std::int64_t>(height_), level.stride);
    if (row >= columns * lines * level.per_cell) {
      row -= columns * lines * level.per_cell;
      continue;
    }
    const std::int64_t cell = row / level.per_cell;
    stride = static_cast<double>(level.stride);
    anchor_x = (static_cast<double>(cell % columns) + detector_.grid_offset) * stride;
    anchor_y = (static_cast<double>(cell / columns) + detector_.grid_offset) * stride;
    break;
  }
  const auto value = [&](std::int64_t k, const BoxScale& scale, double side) {
    const double x = applied(scale.function, static_cast<double>(numbers[k * step]));
    switch (scale.unit) {
      case BoxUnit::kPixels:
        return x;
      case BoxUnit::kShare:
        return x * side;
      case BoxUnit::kCells:
        return x * stride;
    }
    return x;
  };
  const BoxScale& position = detector_.position;
  std::array<double, 4> corners{};  // left, top, right, bottom
  switch (detector_.form) {
    case BoxForm::kCentre: {
      const double x = anchor_x + value(0, position, width_);
      const double y = anchor_y + value(1, position, height_);
      const double half_width = value(2, detector_.size, width_) / 2.0;
      const double half_height = value(3, detector_.size, height_) / 2.0;
      corners = {x - half_width, y - half_height, x + half_width, y + half_height};
      break;
    }
    case BoxForm::kCorners:
      corners = {anchor_x + value(0, position, width_), anchor_y + value(1, position, height_),
                 anchor_x + value(2, position, width_), anchor_y + value(3, position, height_)};
      break;
    case BoxForm::kCornersYx:
      corners = {anchor_x + value(1, position, width_), anchor_y + value(0, position, height_),
                 anchor_x + value(3, position, width_), anchor_y + value(2, position, height_)};
      break;
    case BoxForm::kDistances:
      corners = {anchor_x - value(0, position, width_), anchor_y - value(1, position, height_),
                 anchor_x + value(2, position, width_), anchor_y + value(3, position, height_)};
      break;
  }
  for (const double corner : corners) {
    if (!(std::abs(corner) <= kFarthestCorner)) return std::nullopt;
  }
  return corners;
}

BoxSurvey BoxDecoder::survey(std::span<const TensorView> outputs, std::int64_t slot) const {
  BoxSurvey survey;
  survey.width = width_;
  survey.height = height_;
  const auto add_score = [&](float x) {
    survey.is_finite = survey.is_finite && std::isfinite(x);
    survey.lowest_score = std::min(survey.lowest_score, static_cast<double>(x));
    survey.highest_score = std::max(survey.highest_score, static_cast<double>(x));
  };
  const auto& object = detector_.objectness;
  const bool plain_scores =
      detector_.class_function == BoxFunction::kNone && !detector_.class_softmax;
  for (const Rows& rows : scores_) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const float* numbers = image_of(rows, outputs, slot) + i * rows.row_step;
      for (std::int64_t c = 0; plain_scores && c < classes_; ++c) {
        add_score(numbers[(detector_.first_class_channel + c) * rows.channel_step]);
      }
      if (object && object->function == BoxFunction::kNone) {
        add_score(numbers[object->channel * rows.channel_step]);
      }
    }
  }
  for (const Rows& rows : boxes_) {
    for (std::int64_t i = 0; i < rows.count; ++i, ++survey.rows) {
      const float* numbers = image_of(rows, outputs, slot) + i * rows.row_step +
                             detector_.first_box_channel * rows.channel_step;
      for (std::int64_t k = 0; k < 4; ++k) {
        survey.is_finite = survey.is_finite && std::isfinite(numbers[k * rows.channel_step]);
      }
      const auto corners = corners_of(survey.rows, numbers, rows.channel_step);
      if (!corners) continue;
      survey.centres_x.push_back(static_cast<float>(((*corners)[0] + (*corners)[2]) / 2.0));
      survey.centres_y.push_back(static_cast<float>(((*corners)[1] + (*corners)[3]) / 2.0));
    }
  }
  return survey;
}

std::vector<Box> BoxDecoder::read(std::span<const TensorView> outputs, std::int64_t slot) const {
  std::vector<Box> boxes;
  for (const Candidate& candidate : candidates(outputs, slot)) {
    std::int64_t row = candidate.row;
    for (const Rows& rows : boxes_) {
      if (row >= rows.count) {
        row -= rows.count;
        continue;
      }
      const float* numbers = image_of(rows, outputs, slot) + row * rows.row_step +
                             detector_.first_box_channel * rows.channel_step;
      const auto corners = corners_of(candidate.row, numbers, rows.channel_step);
      if (!corners) break;
      const Box box{static_cast<float>((*corners)[0]),
                    static_cast<float>((*corners)[1]),
                    static_cast<float>((*corners)[2]),
                    static_cast<float>((*corners)[3]),
                    candidate.label,
                    static_cast<float>(candidate.score)};
      if (box.right > box.left && box.bottom > box.top) boxes.push_back(box);
      break;
    }
  }
  return suppress(boxes, detector_.nms_iou);
}

}  // namespace qtool
