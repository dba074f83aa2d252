#include "qtool/answers/answer.h"

namespace qtool {

// Source: Ultra-Light-Fast-Generic-Face-Detector-1MB, its example for ONNX Runtime.
Detector detector_ultraface() {
  Detector detector = find_detector("ssd");
  detector.thresholds = {0.7, 0.9};
  detector.nms_iou = 0.3;
  return detector;
}

}  // namespace qtool
