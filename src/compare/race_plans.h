#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtool/compare/profile.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// The seconds of each run of each plan, [plan][round]. The plans take turns, and each round begins
/// with another plan. Three rounds before are not timed. Other work of the machine affects all
/// plans of a round alike, so differences within a round say more than medians do.
std::vector<std::vector<double>> race_plans(std::span<const Plan* const> plans,
                                            std::span<const TensorView> inputs, std::int64_t rounds,
                                            const Progress& progress);

/// The median of the differences a[round] - b[round].
MedianInterval difference_of(std::span<const double> a, std::span<const double> b);

/// The cost of `changed` over `base`, two models of one race. It is disturbed if the times of
/// either vary as is_unsteady() says, or if the interval of the ratio is wider than 0.2.
RunCost cost_of(std::span<const double> changed, std::span<const double> base);

}  // namespace qtool
