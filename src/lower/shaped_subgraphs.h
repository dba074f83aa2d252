#pragma once

#include "graph/passes/expand_subgraphs.h"
#include "lower/specialize.h"

namespace qtool {

/// A subgraph of an If or Loop for concrete shapes.
struct ShapedSubgraph {
  ShapedGraph shaped;
  std::vector<std::size_t> inputs;  ///< by input: its index in the subgraph's inputs
};

/// specialize() for a graph within another graph.
ShapedGraph specialize(const Graph& graph, ExpandBudget& budget);

/// Infers an If or Loop whose course the data decides: specializes its subgraphs, keeps them as the
/// parameters of the node, and returns type and shape of the outputs. Throws Error(kUnsupported)
/// when type or shape differ from branch to branch or from iteration to iteration.
std::vector<ValueInfo> infer_subgraphs(ShapedGraph& shaped, NodeId id, ExpandBudget& budget);

/// The known facts about a value of a shaped graph: type and shape, and the elements of a constant.
KnownValue known_of(const ShapedGraph& shaped, ValueId id);

}  // namespace qtool
