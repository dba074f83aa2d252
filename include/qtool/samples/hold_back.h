#pragma once

#include <cstdint>
#include <optional>

#include "qtool/samples/samples.h"

// Whoever chooses among models by some samples is likely to be lucky on them. So a choice needs
// samples that played no part in it.
namespace qtool {

/// Of fewer samples than this none is held back.
inline constexpr std::int64_t kLeastForHoldOut = 15;
/// Part kHeldOutPart, counted from 0, of kHoldOutParts parts is held back, see Samples::part().
inline constexpr std::int64_t kHoldOutParts = 3;
inline constexpr std::int64_t kHeldOutPart = 2;

/// A list of samples in two parts.
struct SplitSamples {
  Samples rest;
  std::optional<Samples> held;  ///< nullopt where there are fewer than kLeastForHoldOut
};

/// Holds back every third sample, beginning with the third one. Where there are states: the last
/// third.
SplitSamples hold_back(const Samples& samples);

}  // namespace qtool
