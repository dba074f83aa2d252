#pragma once

#include <cstdint>
#include <optional>

#include "lower/specialize.h"

namespace qtool {

/// A Mul of images by one constant factor per channel.
struct ChannelMul {
  NodeId node = kNoNode;
  ValueId x = kNoValue;
  ValueId factors = kNoValue;
};

/// The node that makes `id`, if the node `reader` alone reads this tensor. Otherwise kNoNode.
NodeId producer_for(const Graph& graph, ValueId id, NodeId reader);

/// The ChannelMul that makes `id`, if the node `reader` alone reads this tensor.
std::optional<ChannelMul> channel_mul(const ShapedGraph& shaped, ValueId id, NodeId reader);

/// Whether `id` is a float32 constant with one number for each of several channels of images.
bool lies_along_channels(const Graph& graph, ValueId id, std::int64_t channels);

}  // namespace qtool
