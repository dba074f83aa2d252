#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// Nodes that together compute an element-wise function of one tensor, such as SiLU
/// (`x Sigmoid(x)`) or a hard swish made of `Add`, `Clip`, `Mul` and `Div`. If its input and output
/// are quantized, the function is a lookup table.
struct ElementFunction {
  ValueId input = kNoValue;
  ValueId output = kNoValue;
  std::vector<NodeId> nodes;  ///< in the graph's order; no other node reads an inner result
};

/// The element-wise functions of a graph, in no particular order. Each is as large as possible, and
/// a node belongs to one function at most. Their constants are single numbers or hold one number
/// per channel. A Relu or Clip that can run inside the layer before it is not part of a function,
/// and no function consists of Relu and Clip alone. Cost: linear in the graph.
std::vector<ElementFunction> element_functions(const Graph& graph);

/// The node that squares the result of `id`, as `x x` or as `x` to the power of 2, and is the only
/// reader of that result. kNoNode if there is no such node.
NodeId square_of(const Graph& graph, NodeId id);

/// The axis of a float32 constant that holds one number per index of that axis, counted from the
/// end: the last axis is 1. std::nullopt if the constant has a single number, if the axis is the
/// last one, or for any other value.
std::optional<std::int64_t> channel_axis_from_end(const Graph& graph, ValueId id);

}  // namespace qtool
