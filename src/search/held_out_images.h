#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "qtool/base/progress.h"
#include "qtool/samples/hold_back.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"

namespace qtool {

/// Which samples of a split are copies of others, by content.
struct SplitContents {
  std::int64_t held_copies = 0;      ///< held samples that are copies of samples searched on
  std::int64_t held_calibrated = 0;  ///< held samples that also set the ranges
  std::optional<Overlap> overlap{};  ///< of all samples with those that set the ranges
};

/// `calibrated`: CalibrationTable::image_ids. `threads`, `stop`: as for overlap_of(). Throws
/// Error(kCancelled). Cost: reads each sample once; nothing where there is nothing to compare.
SplitContents contents_of(const SplitSamples& split, std::span<const std::uint64_t> calibrated,
                          int threads, const StopCheck& stop);

}  // namespace qtool
