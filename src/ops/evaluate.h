#pragma once

#include <optional>
#include <vector>

#include "ops/lowered.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The outputs of a node all of whose inputs are constants, computed with the executor's own
/// operators. Nothing when the operator is unknown or has subgraphs, an input is not constant, or
/// an output exceeds 64 MiB and four times the inputs. Throws what the operator throws. `lowered`:
/// what lowering says about the node. Absent outputs come back as empty tensors.
std::optional<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id,
                                                 const LoweredParams& lowered);

}  // namespace qtool
