#include "qtool/answers/answer.h"

namespace qtool {

// Source: Carion et al., End-to-End Object Detection with Transformers: the last class is "no
// object", and no suppression follows.
Detector detector_detr() {
  Detector detector;
  detector.either_order = true;
  detector.scores.outputs = {std::int64_t{0}};
  detector.first_class_channel = 0;
  detector.background_last = true;
  detector.class_softmax = true;
  detector.boxes.outputs = {std::int64_t{1}};
  detector.position.unit = detector.size.unit = BoxUnit::kShare;
  detector.thresholds = {0.5, 0.7};
  detector.nms_iou = 1.0;
  return detector;
}

}  // namespace qtool
