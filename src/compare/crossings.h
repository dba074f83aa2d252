#pragma once

#include <vector>

#include "qtool/compare/profile.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The steps of a plan that turn reals into integers or back, and the nodes before and after them.
/// `graph`: the graph that was compiled. A conversion inside another operator is not a step, for
/// example in an integer convolution that writes reals. Cost: linear.
std::vector<Crossing> crossings_of(const std::vector<StepInfo>& steps, const Graph& graph);

}  // namespace qtool
