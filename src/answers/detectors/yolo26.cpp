#include "qtool/answers/answer.h"

namespace qtool {

// Source: Ultralytics YOLO26, export to ONNX: the network chooses its best boxes, which need no
// suppression.
Detector detector_yolo26() {
  Detector detector;
  detector.form = BoxForm::kCorners;
  detector.first_class_channel = 4;
  detector.label_channel = 5;
  detector.thresholds = {0.25, 0.5, 0.7};
  detector.nms_iou = 1.0;
  return detector;
}

}  // namespace qtool
