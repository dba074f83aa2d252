#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// Nodes that together compute a function of each single element of one tensor, such as SiLU,
/// `x Sigmoid(x)`, or a hard swish of `Add`, `Clip`, `Mul` and `Div`. Between integers it is a
/// table.
struct ElementFunction {
  ValueId input = kNoValue;
  ValueId output = kNoValue;
  std::vector<NodeId> nodes;  ///< in the graph's order; only they read what all but the last make
};

/// The functions of a graph, as large as they can be and each node in one at most, in no particular
/// order. Their constants are single numbers, or hold one for each channel. A Relu or Clip that can
/// run inside the layer before it is not part of one, and none consists of such nodes alone. Cost:
/// linear in the graph.
std::vector<ElementFunction> element_functions(const Graph& graph);

/// The node that squares the result of `id`, `x x` or `x` to the power of 2, where nothing else
/// reads that; kNoNode where there is none.
NodeId square_of(const Graph& graph, NodeId id);

/// Where a float32 constant of several numbers holds one for each index of an axis, and that is not
/// the last axis: which axis, counted from the end, the last being 1. Nothing for any other value.
std::optional<std::int64_t> channel_axis_from_end(const Graph& graph, ValueId id);

}  // namespace qtool
