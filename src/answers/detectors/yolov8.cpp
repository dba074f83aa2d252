#include "qtool/answers/answer.h"

namespace qtool {

// Source: Ultralytics YOLOv8, export to ONNX: no objectness; classes have passed their sigmoid.
Detector detector_yolov8() {
  Detector detector;
  detector.boxes.axis = detector.scores.axis = ChannelAxis::kFirst;
  detector.first_class_channel = 4;
  detector.thresholds = {0.25, 0.5, 0.7};
  detector.nms_iou = 0.7;
  return detector;
}

}  // namespace qtool
