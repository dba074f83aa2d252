#pragma once

#include "graph/expand_subgraphs.h"
#include "lower/specialize.h"

namespace qtool {

/// A subgraph of an If or Loop for concrete shapes.
struct ShapedSubgraph {
  ShapedGraph shaped;
  std::vector<std::size_t> inputs;  ///< of its inputs, which of the subgraph they are
};

/// specialize() for a graph within another one.
ShapedGraph specialize(const Graph& graph, ExpandBudget& budget, const StopCheck& stop);

/// Infers an If or Loop that the data decides: shapes its subgraphs, keeps them as the parameters
/// of the node, and returns type and shape of the outputs. Throws Error(kUnsupported) when these
/// differ from branch to branch or from iteration to iteration.
std::vector<ValueInfo> infer_subgraphs(ShapedGraph& shaped, NodeId id, ExpandBudget& budget,
                                       const StopCheck& stop);

/// What is known of a value of a shaped graph: everything but, mostly, its elements.
KnownValue known_of(const ShapedGraph& shaped, ValueId id);

}  // namespace qtool
