#include "qtool/answers/answer.h"

namespace qtool {

// Source: Liu et al., SSD: Single Shot MultiBox Detector, with the boxes decoded by the network.
Detector detector_ssd() {
  Detector detector;
  detector.either_order = true;
  detector.scores.outputs = {std::int64_t{0}};
  detector.first_class_channel = 1;
  detector.boxes.outputs = {std::int64_t{1}};
  detector.form = BoxForm::kCorners;
  detector.position.unit = BoxUnit::kShare;
  detector.thresholds = {0.5, 0.7};
  detector.nms_iou = 0.45;
  return detector;
}

}  // namespace qtool
