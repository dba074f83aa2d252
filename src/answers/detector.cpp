#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/text.h"
#include "qtool/answers/answer.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_DETECTOR(name, summary, signs, preprocessing) Detector detector_##name();
#include "answers/detectors/detectors.inc"
#undef QTOOL_DETECTOR

namespace {

constexpr std::array kDetectors = {
#define QTOOL_DETECTOR(name, summary, signs, preprocessing) \
  DetectorInfo{#name, summary, preprocessing},
#include "answers/detectors/detectors.inc"
#undef QTOOL_DETECTOR
};

using Maker = Detector (*)();
constexpr std::array<Maker, kDetectors.size()> kMakers = {
#define QTOOL_DETECTOR(name, summary, signs, preprocessing) detector_##name,
#include "answers/detectors/detectors.inc"
#undef QTOOL_DETECTOR
};

// `of`: the name of the detector that has the field.
template <typename T>
void require_within(std::string_view of, std::string_view field, T value, T least, T most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorCode::kUsage, to_text("detector '", of, "': ", field, ": found ", value,
                                         ", expected ", least, " to ", most));
}

void require(bool holds, const Detector& detector, std::string_view sentence) {
  if (holds) return;
  throw Error(ErrorCode::kUsage, to_text("detector '", detector.name, "': ", sentence));
}

void check(const Detector& detector, const AnchorRows& rows, std::string_view field) {
  require_within<std::int64_t>(detector.name, to_text("outputs of the ", field),
                               std::ssize(rows.outputs), 1, kMaxDetectorOutputs);
  for (const OutputChoice& output : rows.outputs) {
    if (const auto* position = std::get_if<std::int64_t>(&output)) {
      require_within<std::int64_t>(detector.name, to_text("output of the ", field), *position, 0,
                                   kMaxDetectorOutputs - 1);
    }
  }
}

}  // namespace

void check(const Detector& detector) {
  const std::string& name = detector.name;
  const auto channel = [&](std::string_view field, std::int64_t value) {
    require_within<std::int64_t>(name, field, value, 0, kMaxDetectorChannels);
  };
  check(detector, detector.boxes, "boxes");
  check(detector, detector.scores, "scores");
  channel("first channel of the box", detector.first_box_channel);
  channel("first channel of the classes", detector.first_class_channel);
  if (detector.class_count) {
    require_within<std::int64_t>(name, "count of the classes", *detector.class_count, 1,
                                 kMaxDetectorChannels);
  }
  if (detector.objectness) {
    channel("channel of the objectness", detector.objectness->channel);
    require_within(name, "power of the objectness", detector.objectness->power, 0.01, 100.0);
  }
  require_within(name, "power of the classes", detector.class_power, 0.01, 100.0);
  require_within<std::int64_t>(name, "levels of the grid", std::ssize(detector.grid), 0, 16);
  for (const GridLevel& level : detector.grid) {
    require_within<std::int64_t>(name, "stride", level.stride, 1, 16384);
    require_within<std::int64_t>(name, "rows per cell", level.per_cell, 1, 1024);
  }
  require_within(name, "offset of the grid", detector.grid_offset, -16.0, 16.0);
  require_within<std::int64_t>(name, "number of thresholds", std::ssize(detector.thresholds), 1,
                               16);
  for (const double threshold : detector.thresholds) {
    require_within(name, "threshold", threshold, 0.0, 1.0);
  }
  require(std::ranges::is_sorted(detector.thresholds), detector,
          "the thresholds are not in ascending order");
  require_within(name, "IoU of the suppression", detector.nms_iou, 0.0, 1.0);

  if (detector.label_channel) {
    channel("channel of the label", *detector.label_channel);
    require(!detector.class_count && !detector.background_last, detector,
            "a channel holds the label, so that there is one score and no count of classes");
  }
  require(!detector.class_softmax || (detector.class_function == BoxFunction::kNone &&
                                      !detector.objectness && !detector.label_channel),
          detector, "softmax needs the numbers of all classes, without objectness or label");
  require(!detector.either_order ||
              (detector.boxes.outputs.size() == 1 && detector.scores.outputs.size() == 1),
          detector, "only one output of boxes and one of scores can change places");

  const bool centre = detector.form == BoxForm::kCentre;
  const bool cells = detector.position.unit == BoxUnit::kCells ||
                     (centre && detector.size.unit == BoxUnit::kCells);
  require(!cells || !detector.grid.empty(), detector,
          "numbers are counted in cells, which need a grid");
  require(detector.form != BoxForm::kDistances || !detector.grid.empty(), detector,
          "distances are measured from anchors, which need a grid");
}

std::span<const DetectorInfo> detectors() { return kDetectors; }

Detector find_detector(std::string_view name) {
  const DetectorInfo& found = find_by_name(kDetectors, name, "detector");
  Detector detector = kMakers[static_cast<std::size_t>(&found - kDetectors.data())]();
  detector.name = name;
  return detector;
}

}  // namespace qtool
