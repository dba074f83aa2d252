#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "answers/answer.h"
#include "qtool/answers/answer.h"

namespace qtool {

/// The most pairs of an image and a class in it whose pixels are kept: 64 MiB.
inline constexpr std::int64_t kMostClassCounts = std::int64_t{1} << 21;

/// The counts of the answers for each sample, from which the intervals of their sums are computed.
/// Memory: per sample, 150 bytes, 24 for each entry of BoxAgreement::matches, and 32 for each class
/// in its mask.
class KeptCounts {
 public:
  /// If the samples have more classes of pixels than `most_class_counts` together, some are
  /// dropped, and the mean IoU has no interval.
  explicit KeptCounts(std::size_t samples, std::int64_t most_class_counts = kMostClassCounts)
      : counts_(samples), most_class_counts_(most_class_counts) {}

  /// Several threads may keep the counts of different samples at the same time. The order does not
  /// change the intervals.
  void keep(std::size_t sample, AnswerCounts counts);

  /// Writes the intervals of boxes and masks to `all`, which has the figures of all samples that
  /// were kept. Cost: as bootstrap_interval(), twice for each entry of BoxAgreement::matches and
  /// twice for a mask.
  void write_intervals(AnswerAgreement& all) const;
  /// Those of entry `k` of BoxAgreement::matches.
  void write_intervals(std::size_t k, BoxMatch& match) const;
  /// Those of the masks.
  void write_intervals(MaskAgreement& all) const;

 private:
  std::vector<AnswerCounts> counts_;
  std::int64_t most_class_counts_;
  std::int64_t class_counts_ = 0;  // also those that were not kept; threads add to it atomically
};

}  // namespace qtool
