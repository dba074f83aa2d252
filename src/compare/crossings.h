#pragma once

#include <vector>

#include "qtool/compare/profile.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The steps of a plan that turn reals into integers or back, and the nodes between which they
/// stand. `graph`: the one that was compiled. What an operator converts while it computes, as a
/// convolution on integers that writes reals, is no step. Cost: linear.
std::vector<Crossing> crossings_of(const std::vector<StepInfo>& steps, const Graph& graph);

}  // namespace qtool
