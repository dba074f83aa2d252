#include "qtool/answers/answer.h"

namespace qtool {

// Source: FastestDet, its decoding of the output map.
Detector detector_fastestdet() {
  Detector detector;
  detector.boxes.axis = detector.scores.axis = ChannelAxis::kFirst;
  detector.first_box_channel = 1;
  detector.position = {BoxFunction::kTanh, BoxUnit::kCells};
  detector.size = {BoxFunction::kSigmoid, BoxUnit::kShare};
  detector.objectness = {0, BoxFunction::kNone, 0.6};
  detector.class_power = 0.4;
  detector.grid = {{16, 1}};
  detector.thresholds = {0.5, 0.65};
  detector.nms_iou = 0.45;
  return detector;
}

}  // namespace qtool
