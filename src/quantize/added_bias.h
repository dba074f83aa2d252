#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "qtool/graph/graph.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

/// The place where a constant is added to the result of a MatMul. A MatMul has no bias of its own.
struct AddedBias {
  NodeId add = kNoNode;
  std::size_t input = 0;  ///< the input of the Add that is the constant
};

/// The Add that is the only reader of the result of the MatMul `node` with `ports`, if its other
/// operand is a float32 constant whose last axis is the output channels. Nothing otherwise.
std::optional<AddedBias> added_bias(const Graph& graph, NodeId node, const WeightPorts& ports);

/// Gives the Add of `added` a new constant: the old one plus one value of `more` for each output
/// channel. The weights of the MatMul may have been replaced in `graph` since added_bias(). The old
/// constant stays in the graph for its other readers.
void add_to_added_bias(Graph& graph, const AddedBias& added, std::span<const float> more);

/// Adds one value of `more` for each row of each direction to the bias of W in a recurrent layer. A
/// layer without a bias gets one.
void add_to_recurrent_bias(Graph& graph, NodeId node, std::span<const float> more);

}  // namespace qtool
