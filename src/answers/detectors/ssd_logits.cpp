#include "qtool/answers/answer.h"

namespace qtool {

// Source: Liu et al., SSD: Single Shot MultiBox Detector, exported without the softmax over
// classes.
Detector detector_ssd_logits() {
  Detector detector = find_detector("ssd");
  detector.class_softmax = true;
  return detector;
}

}  // namespace qtool
