#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qtool/search/search.h"

namespace qtool {

/// How plans are timed: by the clock, or by a rule of a test.
struct PlanTimer {
  /// Median seconds of each step of two plans that take turns.
  std::function<std::vector<std::vector<double>>(std::span<const Plan* const> plans)> steps;
  /// As race().
  std::function<std::vector<std::vector<double>>(std::span<const Plan* const> plans)> runs;
};

/// faster_only() with another timer.
FasterResult faster_only(const Executor& fp32, const Recipe& recipe, std::span<const Shape> shapes,
                         const FasterOptions& options, const PlanTimer& timer);

}  // namespace qtool
