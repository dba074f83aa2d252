#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "qtool/answers/answer.h"

namespace qtool {

/// For each INT8 box, the index of the FP32 box that it matches, or -1. Both lists are sorted, best
/// first. An INT8 box takes the FP32 box of its class with the highest IoU, if this IoU is
/// `least_iou` or more; the first FP32 box wins a tie. FP32 boxes with scores below `least_score`,
/// and those that a better INT8 box took, are not available.
/// Cost: O(fp32 * int8).
std::vector<std::int64_t> match_boxes(std::span<const Box> fp32, std::span<const Box> int8,
                                      double least_iou, double least_score = 0.0);

/// The boxes of one image, counted for one entry of BoxAgreement::matches.
struct BoxCounts {
  std::int64_t fp32 = 0;
  std::int64_t int8 = 0;
  std::int64_t kept = 0;
};

/// Compares the boxes of the INT8 model with those of the FP32 model, image by image, and sums up
/// the results. Neither the order of the images nor how they were shared among scorers changes the
/// result. Memory: 16 bytes for each INT8 box, for each entry of BoxAgreement::matches.
class KeptBoxScorer {
 public:
  explicit KeptBoxScorer(const Detector& detector);

  /// Adds the boxes of one image, as BoxDecoder::read() gives them; those below both kRankedScore
  /// and the lowest threshold have no effect. Returns their counts for each
  /// entry of BoxAgreement::matches. Cost: O(fp32 * int8) for each entry.
  std::vector<BoxCounts> add(std::span<const Box> fp32, std::span<const Box> int8);
  /// Adds the images of another scorer, which must have the same detector.
  KeptBoxScorer& operator+=(const KeptBoxScorer& other);

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
  static BoxCounts add(std::span<const Box> fp32, std::span<const Box> int8, Tally& tally);

  BoxAgreement sums_;   ///< its `matches` stay empty
  float floor_ = 0.0F;  ///< the lowest score that is ranked
  std::vector<Tally> tallies_;
};

}  // namespace qtool
