#pragma once

#include <span>
#include <vector>

#include "analyze/exclusions.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The measured times of a model: the median seconds of each step of its plan.
struct TimedSteps {
  const Graph& graph;  ///< that the plan was compiled from
  const std::vector<StepInfo>& steps;
  std::span<const double> seconds;  ///< [step]
};

/// What each block of nodes would gain in FP32: its time on integers, with the conversions beside
/// it, minus its time in FP32. A DequantizeLinear counts for the node before it. Any other
/// conversion counts in equal parts for the nodes that read its result. Cost: linear.
std::vector<double> measured_gains(std::span<const NodeSet> blocks, const TimedSteps& fp32,
                                   const TimedSteps& int8);

}  // namespace qtool
