#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qtool/search/search.h"

namespace qtool {

/// How plans are timed: with a clock, or in tests by a fixed rule.
struct PlanTimer {
  /// The median seconds of each step of two plans that take turns: [plan][step].
  std::function<std::vector<std::vector<double>>(std::span<const Plan* const> plans)> steps;
  /// The seconds of each run of each plan, as race_plans() returns them.
  std::function<std::vector<std::vector<double>>(std::span<const Plan* const> plans)> runs;
};

/// faster_only() with another timer.
FasterResult faster_only(const Executor& fp32, const StaticInputs& base,
                         std::span<const Shape> shapes, const FasterOptions& options,
                         const PlanTimer& timer);

}  // namespace qtool
