#include "qtool/answers/answer.h"

namespace qtool {

// Source: Ge et al., YOLOX: Exceeding YOLO Series in 2021, section 2.
Detector detector_yolox() {
  Detector detector;
  detector.position.unit = BoxUnit::kCells;
  detector.size = {BoxFunction::kExp, BoxUnit::kCells};
  detector.objectness.emplace();
  detector.grid = {{8, 1}, {16, 1}, {32, 1}};
  detector.thresholds = {0.3, 0.5, 0.7};
  detector.nms_iou = 0.45;
  return detector;
}

}  // namespace qtool
