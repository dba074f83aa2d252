#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtool/compare/profile.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// Seconds of each run of each plan, [plan][round]. The plans take turns, in each round another one
/// begins; three rounds before are not timed. What else the machine does hits all of them alike, so
/// that differences within a round say more than medians do.
std::vector<std::vector<double>> race(std::span<const Plan* const> plans,
                                      std::span<const TensorView> inputs, std::int64_t rounds,
                                      const Progress& progress);

/// The median of `a` - `b`, round by round.
MedianInterval difference_of(std::span<const double> a, std::span<const double> b);

}  // namespace qtool
