#include "qtool/answers/answer.h"

namespace qtool {

// Source: Ultralytics YOLOv5, export to ONNX: objectness and classes have passed their sigmoid.
Detector detector_yolov5() {
  Detector detector;
  detector.objectness.emplace();
  detector.thresholds = {0.25, 0.5, 0.7};
  detector.nms_iou = 0.45;
  return detector;
}

}  // namespace qtool
