#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "qtool/graph/graph.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// Where a constant is added to the result of a MatMul, which has no bias of its own.
struct AddedBias {
  NodeId add = kNoNode;
  std::size_t input = 0;  ///< of the Add: the constant
};

/// The Add that alone reads the result of the MatMul `node` with `ports`, if its other operand is a
/// float32 constant whose last axis are the output channels.
std::optional<AddedBias> added_bias(const Graph& graph, NodeId node, const WeightPorts& ports);

/// Gives that Add another constant, larger by one of `more` for each output channel. `graph` may
/// have other weights than those that `ports` name. The old constant stays for who else reads it.
void add_to_added_bias(Graph& graph, const AddedBias& added, std::span<const float> more);

/// Makes the bias of W of a recurrent layer larger by one of `more` for each row of each direction.
/// A layer without one gets one.
void add_to_recurrent_bias(Graph& graph, NodeId node, std::span<const float> more);

}  // namespace qtool
