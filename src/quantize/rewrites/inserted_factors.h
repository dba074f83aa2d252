#pragma once

#include <span>
#include <vector>

#include "graph/element_functions.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A Mul with one constant factor for each channel.
struct ChannelFactor {
  NodeId node = kNoNode;
  ValueId factors = kNoValue;  ///< the constant, with one element per channel
  bool behind = false;         ///< whether the Mul is after its function, not before
};

/// Inserts a Mul by ones before and after each function whose input is the result of a convolution,
/// unless factors go through the function anyway.
/// If a function ends with a Mul by one constant per channel, that node takes the place of the Mul
/// after it.
/// These nodes make it possible to scale the channels of the tensors around the function. The
/// tensors keep their names and numbers; the tensors that the function itself reads and writes are
/// new. Cost: sorting the graph once.
std::vector<ChannelFactor> add_channel_factors(Graph& graph,
                                               std::span<const ElementFunction> functions);

/// Removes each Mul of `factors` whose factors are all 1.
void remove_idle_factors(Graph& graph, std::span<const ChannelFactor> factors);

}  // namespace qtool
