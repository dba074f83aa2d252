#pragma once

#include <span>
#include <vector>

#include "graph/element_functions.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A Mul with one constant factor for each channel.
struct ChannelFactor {
  NodeId node = kNoNode;
  ValueId factors = kNoValue;  ///< the constant, of as many elements as there are channels
  bool behind = false;         ///< whether it is behind its function, not before it
};

/// Puts a Mul by ones before and behind each of the functions that reads the result of a
/// convolution alone. They let the channels of the tensors around the function be scaled. These
/// tensors keep their names and numbers; what the function itself reads and writes is new. Cost:
/// sorting the graph once.
std::vector<ChannelFactor> add_channel_factors(Graph& graph,
                                               std::span<const ElementFunction> functions);

/// Removes those of `factors` that are all 1.
void remove_idle_factors(Graph& graph, std::span<const ChannelFactor> factors);

}  // namespace qtool
