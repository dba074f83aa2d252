#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lower/specialize.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/rewrites/channel_factors.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// A group of channels that can only be scaled by one common factor. Numbers of groups that were
/// merged stay valid.
enum class ChannelGroup : std::int32_t {
  kZero = 0,    ///< holds zeros only, as padding does: any factor will do
  kLocked = 1,  ///< cannot be scaled
};

/// The place of a group in a vector that holds one element for each.
constexpr std::size_t index_of(ChannelGroup group) noexcept {
  return static_cast<std::size_t>(group);
}

/// Whether channels of the group can be scaled, and that matters. `group` is merged.
constexpr bool is_free(ChannelGroup group) noexcept {
  return group != ChannelGroup::kZero && group != ChannelGroup::kLocked;
}

/// A layer that can take a factor of each channel into its weights and bias.
struct ScalableLayer {
  NodeId node = kNoNode;
  WeightPorts ports;
  std::int64_t group_size = 0;  ///< input channels that one output channel reads
};

/// Finds out which channels of a network can be scaled, and which of them only together, so that
/// the network computes the same once the layers around them take the factors in.
/// A layer with weights begins new groups. Relu, LeakyRelu, a Clip from 0 on and pooling over
/// positions pass them on, as does a Mul by one number per channel, an Add merges those of its
/// operands, what only moves values (Reshape, Transpose, Concat, Slice ...) is run on the numbers
/// of the groups. All else locks what it reads and writes. A Clip keeps its bound: whoever scales
/// must see to it that this bound is beyond the range that integers keep. Cost: linear in the graph
/// and in the values that are moved.
class ChannelGroups {
 public:
  /// Throws as specialize().
  ChannelGroups(const Graph& graph, const InputShapes& shapes,
                std::span<const ChannelFactor> factors = {});

  /// The group of each index of axis 1 of a tensor, merged; empty where these do not have one each.
  [[nodiscard]] std::vector<ChannelGroup> channels(ValueId id) const;
  [[nodiscard]] ChannelGroup root(ChannelGroup group) const;
  /// The groups of the elements of a tensor whose channels have none each, merged; else nothing.
  [[nodiscard]] std::vector<ChannelGroup> elements(ValueId id) const;
  /// The layers, in the graph's order.
  [[nodiscard]] const std::vector<ScalableLayer>& layers() const noexcept { return layers_; }
  /// Number of groups, merged ones included: an upper bound of their numbers.
  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }

  /// No channel of this tensor may be scaled.
  void lock(ValueId id);

 private:
  /// The groups of a tensor: one per index of axis 1, or one per element, or nothing known.
  struct Groups {
    std::vector<ChannelGroup> channels;
    std::shared_ptr<const Tensor> elements;  ///< float32, the numbers of the groups; or null
  };

  Groups& groups(ValueId id) { return groups_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Groups& groups(ValueId id) const {
    return groups_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const std::optional<ValueInfo>& info(ValueId id) const {
    return shaped_.infos[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool any_free(ValueId id) const;
  ChannelGroup merge(ChannelGroup a, ChannelGroup b);
  ChannelGroup add_group();

  void visit(NodeId id);
  void lock_node(const Node& node);
  /// Gives a tensor locked channels, as many as it has.
  void set_locked(ValueId id);
  [[nodiscard]] bool begin_layer(NodeId id);
  [[nodiscard]] bool begin_factor(NodeId id);
  /// A Mul by one number per channel, such as the gate of squeeze and excitation.
  [[nodiscard]] bool multiply_by_gate(const Node& node);
  [[nodiscard]] bool keeps_channels(const Node& node) const;
  [[nodiscard]] bool join(const Node& node);
  [[nodiscard]] bool concatenate(const Node& node);
  [[nodiscard]] bool move(NodeId id);
  void set_elements(ValueId id, Tensor elements);

  const Graph& graph_;
  ShapedGraph shaped_;
  std::vector<Groups> groups_;  // by ValueId
  std::vector<ChannelGroup> parent_;
  std::vector<ScalableLayer> layers_;
  std::span<const ChannelFactor> factors_;
  std::int64_t moved_ = 0;  ///< values that operators have moved
};

/// Whether each output channel of a layer reads input channels that no other one reads, so that
/// factors of the input cost its weights nothing: they have a scale per output channel.
bool is_depthwise(const ScalableLayer& layer);

}  // namespace qtool
