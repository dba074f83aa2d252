#include "qtool/answers/answer.h"

namespace qtool {

// Source: as yolox, before the heads are joined.
Detector detector_yolox_heads() {
  Detector detector = find_detector("yolox");
  detector.boxes.outputs = {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}};
  detector.boxes.axis = ChannelAxis::kFirst;
  detector.scores = detector.boxes;
  return detector;
}

}  // namespace qtool
