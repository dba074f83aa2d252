#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"
#include "qtool/search/search.h"

// A search tries hundreds of models, and its choice is likely to be lucky on the images that it was
// made on. So some images take no part in it.
namespace qtool {

/// The images of a search in two parts.
struct SplitSamples {
  Samples searched;
  std::optional<Samples> held;  ///< nullopt where there are fewer than kLeastForHoldOut
};

/// Holds back every third sample, beginning with the third one. Where there are states: the last
/// third.
SplitSamples hold_back(const Samples& samples);

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

/// Judges the goals by the intervals of `part.best`: sets the verdict and the number of images that
/// would decide. A figure without an interval decides nothing.
void judge(const std::vector<SearchGoal>& goals, SearchedPart& part);

/// Runs both models on `samples`, and judges them. `best`: null if it is the base model. Images
/// that were left out are added to `bad`. Labels are read only for a goal of top-1 accuracy. Throws
/// as evaluate() does. Cost: a run of each model per image, and two runs of FP32.
SearchedPart judged_part(const Executor& fp32, const Executor& int8, const Executor* best,
                         const Samples& samples, const SearchOptions& options,
                         const Progress& progress, std::vector<BadImage>& bad);

}  // namespace qtool
