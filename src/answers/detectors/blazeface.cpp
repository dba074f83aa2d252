#include "qtool/answers/answer.h"

namespace qtool {

// Source: Bazarevsky et al., BlazeFace; the anchors are those of MediaPipe's model for 256 pixels:
// 2 for each of 16x16 cells, 6 for each of 8x8 cells. In each row, 6 points of the face follow the
// box.
Detector detector_blazeface() {
  Detector detector;
  detector.scores.outputs = {std::int64_t{0}, std::int64_t{1}};
  detector.first_class_channel = 0;
  detector.class_function = BoxFunction::kSigmoid;
  detector.boxes.outputs = {std::int64_t{2}, std::int64_t{3}};
  detector.grid = {{16, 2}, {32, 6}};
  detector.grid_offset = 0.5;
  detector.thresholds = {0.65, 0.8};
  detector.nms_iou = 0.3;
  return detector;
}

}  // namespace qtool
