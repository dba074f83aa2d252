#pragma once

#include <optional>
#include <vector>

#include "graph/passes/fold_budget.h"
#include "ops/lowered.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The outputs of a node whose inputs are all constants, computed with the executor's own
/// operators. Nothing when the operator is unknown or has subgraphs, an input is not constant, an
/// output exceeds 64 MiB and four times the inputs, or the outputs exceed the rest of `budget`
/// (null: no budget). Throws what the operator throws. `lowered`: the parameters that lowering gave
/// the node. Absent outputs come back as empty tensors.
std::optional<std::vector<Tensor>> evaluate_node(const Graph& graph, NodeId id,
                                                 const LoweredParams& lowered,
                                                 FoldBudget* budget = nullptr);

}  // namespace qtool
