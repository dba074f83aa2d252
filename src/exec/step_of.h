#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The step of a plan that computes `node` of the graph that was compiled: that of its name, or the
/// one that writes its output or, after fusion, the output of what follows it.
std::optional<std::size_t> step_of(const std::vector<StepInfo>& steps, const Graph& graph,
                                   NodeId node);

/// `steps` of `graph` with those of nodes without a name called as name_of() calls these nodes, so
/// that they can be told apart. Cost: unnamed nodes x steps comparisons.
std::vector<StepInfo> named_steps(std::vector<StepInfo> steps, const Graph& graph);

}  // namespace qtool
