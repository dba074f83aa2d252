#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "qtool/answers/answer.h"

namespace qtool {

/// For each INT8 box the index of the FP32 box that it matches, or -1. Both best first: an INT8 box
/// takes the FP32 box of its class, from `least_score` on, that no better one took and with which
/// it has the highest IoU (of equal ones the first), if that is `least_iou` or more.
/// Cost: O(fp32 * int8).
std::vector<std::int64_t> match_boxes(std::span<const Box> fp32, std::span<const Box> int8,
                                      double least_iou, double least_score = 0.0);

/// Compares the boxes of the INT8 model with those of the FP32 model, image by image, and sums.
/// Neither the order of the images nor how they were shared among scorers changes the result.
/// Memory: 24 bytes for each INT8 box and each row of the result.
class BoxScorer {
 public:
  explicit BoxScorer(const Detector& detector);

  /// The boxes of one image as BoxReader::read() gives them. Cost: O(fp32 * int8) per row.
  void add(std::span<const Box> fp32, std::span<const Box> int8);
  /// Another scorer's images, of the same detector.
  BoxScorer& operator+=(const BoxScorer& other);

  [[nodiscard]] BoxAgreement result() const;

 private:
  /// An INT8 box in the ranking of its class.
  struct Ranked {
    std::int64_t label = 0;
    float score = 0.0F;
    bool hit = false;
  };
  struct Tally {
    BoxMatch match;
    std::map<std::int64_t, std::int64_t> truths;  ///< FP32 boxes of each class
    std::vector<Ranked> ranked;
  };
  static void add(std::span<const Box> fp32, std::span<const Box> int8, Tally& tally);

  BoxAgreement sums_;  ///< without its matches
  std::vector<Tally> tallies_;
};

}  // namespace qtool
