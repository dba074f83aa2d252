#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/id_map.h"
#include "lower/specialize.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/rewrites/inserted_factors.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

/// The number of a group of channels that can only be scaled by one common factor. Numbers stay
/// valid after a merge: root() gives the number of the merged group.
enum class ChannelGroup : std::int32_t {
  kZero = 0,    ///< holds zeros only, as padding does: any factor is allowed
  kLocked = 1,  ///< cannot be scaled
};

/// Whether the channels of the group can be scaled, and scaling changes them. `group`: a result of
/// root().
constexpr bool is_free(ChannelGroup group) noexcept {
  return group != ChannelGroup::kZero && group != ChannelGroup::kLocked;
}

/// A layer whose weights and bias can be multiplied by a factor for each channel.
struct ScalableLayer {
  NodeId node = kNoNode;
  WeightPorts ports;
  std::int64_t group_size = 0;  ///< input channels that one output channel reads
};

/// Finds the channels of a network that can be scaled, and the channels that can only be scaled
/// together. The outputs of the network stay the same if the layers around the scaled channels
/// multiply the factors into their weights.
/// A layer with weights begins new groups. Relu, LeakyRelu, a Clip with lower bound 0, pooling over
/// positions, and a Mul by one number per channel pass the groups on. An Add merges the groups of
/// its operands. Operators that only move values (Reshape, Transpose, Concat, Slice ...) are run on
/// the numbers of the groups. All other operators lock the tensors that they read and write. A Clip
/// keeps its upper bound. The caller must make sure that this bound is not below the end of the
/// range that integers keep. Cost: linear in the graph and in the number of moved values.
class ChannelGroups {
 public:
  /// Throws as specialize().
  ChannelGroups(const Graph& graph, const InputShapes& shapes,
                std::span<const ChannelFactor> factors = {});

  /// The merged group of each channel of a tensor, that is of each index of axis(). Empty if not
  /// every index has one group.
  [[nodiscard]] std::vector<ChannelGroup> channels(ValueId id) const;
  /// The axis along which channels() of a tensor lie.
  [[nodiscard]] std::int64_t axis(ValueId id) const { return groups(id).axis; }
  /// Whether calibration observes the channels of a tensor along axis(); see channel_axis().
  [[nodiscard]] bool is_observed_along_axis(ValueId id) const;
  [[nodiscard]] ChannelGroup root(ChannelGroup group) const;
  /// The merged group of each element of a tensor whose channels do not have one group each. Empty
  /// for other tensors.
  [[nodiscard]] std::vector<ChannelGroup> elements(ValueId id) const;
  /// The layers, in the graph's order.
  [[nodiscard]] const std::vector<ScalableLayer>& layers() const noexcept { return layers_; }
  /// Number of groups, merged ones included. All numbers of groups are below it.
  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }

  /// Locks all channels of a tensor.
  void lock(ValueId id);

 private:
  /// The groups of a tensor: one per index of an axis, or one per element, or neither if unknown.
  struct Groups {
    std::int64_t axis = 1;
    std::vector<ChannelGroup> channels;
    std::shared_ptr<const Tensor> elements;  ///< float32, the numbers of the groups; or null
  };

  Groups& groups(ValueId id) { return groups_[id]; }
  [[nodiscard]] const Groups& groups(ValueId id) const { return groups_[id]; }
  [[nodiscard]] const std::optional<ValueInfo>& info(ValueId id) const { return shaped_.infos[id]; }
  [[nodiscard]] bool any_free(ValueId id) const;
  ChannelGroup merge(ChannelGroup a, ChannelGroup b);
  ChannelGroup add_group();

  void visit(NodeId id);
  void lock_node(const Node& node);
  /// Makes each channel of a tensor a locked one.
  void set_locked(ValueId id);
  [[nodiscard]] bool begin_layer(NodeId id);
  [[nodiscard]] bool begin_factor(NodeId id);
  /// Handles a Mul by one number per channel, such as the gate of squeeze and excitation.
  [[nodiscard]] bool multiply_by_gate(const Node& node);
  [[nodiscard]] bool keeps_channels(const Node& node) const;
  [[nodiscard]] bool join(const Node& node);
  [[nodiscard]] bool concatenate(const Node& node);
  [[nodiscard]] bool move(NodeId id);
  void set_elements(ValueId id, Tensor elements);
  /// The group of each index of `axis`, where all elements of an index belong to one group or are
  /// zero. Empty if that is not so.
  [[nodiscard]] std::vector<ChannelGroup> groups_along(const Tensor& elements,
                                                       std::int64_t axis) const;

  const Graph& graph_;
  ShapedGraph shaped_;
  IdMap<ValueId, Groups> groups_;
  IdMap<ChannelGroup, ChannelGroup> parent_;
  std::vector<ScalableLayer> layers_;
  std::span<const ChannelFactor> factors_;
  std::int64_t moved_ = 0;  ///< values that operators moved so far
};

/// Whether each output channel of a layer reads only one input channel. Factors of the input then
/// cost its weights no precision, because they have one scale per output channel.
bool is_depthwise(const ScalableLayer& layer);

}  // namespace qtool
