#pragma once

#include <optional>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The outputs of a node all of whose inputs are constants, computed with the executor's own
/// operators. Nothing when the operator is unknown or an input is not constant. Throws what the
/// operator throws. Absent outputs come back as empty tensors.
std::optional<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id);

}  // namespace qtool
