#include "quantize/rewrites/channel_groups.h"

#include <algorithm>
#include <utility>

#include "graph/channel_axis.h"
#include "graph/clamp.h"
#include "graph/constant_float.h"
#include "graph/op_traits.h"
#include "ops/evaluate.h"
#include "ops/strides.h"
#include "quantize/bias_correction.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/weight_layout.h"

namespace qtool {
namespace {

/// Far more groups than networks have; further channels stay as they are. Group numbers go through
/// operators as float32 values, which represent them exactly.
constexpr std::size_t kMaxGroups = std::size_t{1} << 20U;
/// The most values that all operators together may move: many times the number in large detectors.
constexpr std::int64_t kMaxMoved = std::int64_t{1} << 26;

}  // namespace

bool is_depthwise(const ScalableLayer& layer) { return layer.group_size == 1; }

ChannelGroups::ChannelGroups(const Graph& graph, const InputShapes& shapes,
                             std::span<const ChannelFactor> factors)
    : graph_(graph),
      shaped_(specialize(graph, shapes)),
      groups_(std::max(graph.value_limit(), shaped_.graph.value_limit())),
      parent_(2, ChannelGroup::kZero),
      factors_(factors) {
  parent_[ChannelGroup::kLocked] = ChannelGroup::kLocked;
  shaped_.infos.resize(groups_.size());
  for (const ValueId id : graph.inputs()) set_locked(id);
  for (const NodeId id : graph.nodes()) visit(id);
  for (const ValueId id : graph.outputs()) lock(id);
}

ChannelGroup ChannelGroups::root(ChannelGroup group) const {
  while (parent_[group] != group) group = parent_[group];
  return group;
}

std::vector<ChannelGroup> ChannelGroups::channels(ValueId id) const {
  std::vector<ChannelGroup> roots = groups(id).channels;
  for (ChannelGroup& group : roots) group = root(group);
  return roots;
}

std::vector<ChannelGroup> ChannelGroups::elements(ValueId id) const {
  std::vector<ChannelGroup> roots;
  if (!groups(id).elements) return roots;
  for (const float number : groups(id).elements->values<float>()) {
    roots.push_back(root(static_cast<ChannelGroup>(static_cast<std::int32_t>(number))));
  }
  return roots;
}

bool ChannelGroups::is_observed_along_axis(ValueId id) const {
  const auto& known = info(id);
  return known && channel_axis(graph_, id, known->shape.rank()) == axis(id);
}

ChannelGroup ChannelGroups::merge(ChannelGroup a, ChannelGroup b) {
  for (ChannelGroup* group : {&a, &b}) {
    while (parent_[*group] != *group) {  // shortens the path for later calls
      ChannelGroup& up = parent_[*group];
      up = parent_[up];
      *group = up;
    }
  }
  if (a == ChannelGroup::kZero) return b;
  if (b == ChannelGroup::kZero || a == b) return a;
  // The lower number becomes the root, so that a locked group stays locked.
  parent_[std::max(a, b)] = std::min(a, b);
  return std::min(a, b);
}

ChannelGroup ChannelGroups::add_group() {
  if (parent_.size() >= kMaxGroups) return ChannelGroup::kLocked;
  const auto group = static_cast<ChannelGroup>(parent_.size());
  parent_.resize(parent_.size() + 1, group);
  return group;
}

bool ChannelGroups::any_free(ValueId id) const {
  const Groups& known = groups(id);
  const auto free = [&](ChannelGroup group) { return is_free(root(group)); };
  if (std::any_of(known.channels.begin(), known.channels.end(), free)) return true;
  return std::ranges::any_of(elements(id), free);
}

void ChannelGroups::lock(ValueId id) {
  const Groups& known = groups(id);
  for (const ChannelGroup group : known.channels) merge(group, ChannelGroup::kLocked);
  for (const ChannelGroup group : elements(id)) merge(group, ChannelGroup::kLocked);
}

void ChannelGroups::set_locked(ValueId id) {
  const auto& known = info(id);
  if (!known || known->shape.rank() < 2) return;
  const std::int64_t axis = channel_axis(graph_, id, known->shape.rank());
  const std::int64_t channels = known->shape[axis];
  if (channels > static_cast<std::int64_t>(kMaxGroups)) return;
  groups(id).axis = axis;
  groups(id).channels.assign(static_cast<std::size_t>(channels), ChannelGroup::kLocked);
}

void ChannelGroups::lock_node(const Node& node) {
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) lock(input);
  }
  for (const ValueId output : node.outputs) {
    if (output != kNoValue) set_locked(output);
  }
}

void ChannelGroups::visit(NodeId id) {
  const Node& node = graph_.node(id);
  const auto is_fixed = [&](ValueId output) {
    return output == kNoValue || shaped_.graph.is_constant(output);
  };
  // Shapes, and values computed from shapes, do not depend on the factors.
  if (std::all_of(node.outputs.begin(), node.outputs.end(), is_fixed)) return;
  const OpTraits& traits = traits_of(node);
  bool understood = false;
  if (is_product(traits.kind)) {
    understood = begin_layer(id);
  } else if (node.is("Mul")) {
    understood = begin_factor(id) || multiply_by_gate(node);
  } else if (node.is("Add")) {
    understood = join(node);
  } else if (node.is("Concat")) {
    understood = concatenate(node);
  } else if (keeps_channels(node)) {
    groups(node.outputs[0]) = groups(node.inputs[0]);
    understood = true;
  } else if (traits.kind == OpKind::kMoving && traits.keeps_channels == ChannelRule::kNo) {
    understood = move(id);
  }
  if (!understood) lock_node(node);
}

bool ChannelGroups::begin_layer(NodeId id) {
  const Node& node = graph_.node(id);
  const auto ports = weight_ports(graph_, id);
  if (!ports || ports->weight == ports->bias || node.get_int("transA", 0) != 0) return false;
  const bool conv = traits_of(node).kind == OpKind::kConvolution;
  if (node.is("ConvTranspose") && node.get_int("group", 1) != 1) return false;
  const auto& input = info(node.inputs[0]);
  if (!input || input->shape.rank() < 2) return false;
  const std::int64_t axis = conv ? 1 : input->shape.rank() - 1;
  // If other nodes read the weights too, the scaling would change those nodes as well.
  for (const ValueId constant : {ports->weight, ports->bias}) {
    if (constant == kNoValue) continue;
    const Tensor* tensor = graph_.value(constant).constant.get();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32 || graph_.is_output(constant) ||
        graph_.consumers(constant).size() != 1 || !all_finite(tensor->values<float>())) {
      return false;
    }
  }
  if (ports->bias != kNoValue &&
      (graph_.value(ports->bias).constant->elements() != ports->channels ||
       !is_bias_by_channel(graph_, *ports))) {
    return false;
  }
  const WeightLayout layout =
      layout_of(graph_, id, *ports, graph_.value(ports->weight).constant->shape());
  // If the channels of the input are unknown, the weights can still be scaled by output channel.
  const Groups& read = groups(node.inputs[0]);
  if (read.axis != axis || std::ssize(read.channels) != layout.total_inputs) lock(node.inputs[0]);
  Groups& results = groups(node.outputs[0]);
  results.axis = axis;
  for (std::int64_t c = 0; c < ports->channels; ++c) results.channels.push_back(add_group());
  layers_.push_back({id, *ports, layout.inputs});
  return true;
}

bool ChannelGroups::begin_factor(NodeId id) {
  const auto known = std::ranges::find(factors_, id, &ChannelFactor::node);
  if (known == factors_.end()) return false;
  const Node& node = graph_.node(id);
  const std::int64_t channels = graph_.value(known->factors).constant->elements();
  const auto& from = info(node.inputs[0]);
  const auto& to = info(node.outputs[0]);
  if (!from || !to || from->shape != to->shape || from->shape.rank() < 2 ||
      from->shape[1] != channels) {
    return false;
  }
  const Groups& read = groups(node.inputs[0]);
  if (read.axis != 1 || std::ssize(read.channels) != channels) lock(node.inputs[0]);
  std::vector<ChannelGroup>& results = groups(node.outputs[0]).channels;
  for (std::int64_t c = 0; c < channels; ++c) results.push_back(add_group());
  return true;
}

bool ChannelGroups::multiply_by_gate(const Node& node) {
  const auto is_gate_of = [&](ValueId gate, ValueId tensor) {
    const auto& small = info(gate);
    const auto& large = info(tensor);
    if (!small || !large || small->shape.rank() != large->shape.rank()) return false;
    if (small->shape.rank() < 3 || small->shape[1] != large->shape[1]) return false;
    for (std::int64_t axis = 2; axis < small->shape.rank(); ++axis) {
      if (small->shape[axis] != 1) return false;
    }
    const Groups& of_tensor = groups(tensor);
    return of_tensor.axis == 1 && !of_tensor.channels.empty() && !graph_.is_constant(tensor);
  };
  for (const std::size_t gate : {std::size_t{1}, std::size_t{0}}) {
    const ValueId tensor = node.inputs[1 - gate];
    if (!is_gate_of(node.inputs[gate], tensor) || is_gate_of(tensor, node.inputs[gate])) continue;
    lock(node.inputs[gate]);
    groups(node.outputs[0]) = groups(tensor);
    return true;
  }
  return false;
}

bool ChannelGroups::keeps_channels(const Node& node) const {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  if (const std::optional<Range> bounds = clamp_of(graph_, node)) return bounds->min == 0.0F;
  // A Resize may write a constant beside the image, which no factor divides.
  if (node.get_float("extrapolation_value", 0.0F) != 0.0F) return false;
  const ChannelRule rule = traits_of(node).keeps_channels;
  if (rule != ChannelRule::kOfImages) return rule == ChannelRule::kAlways;
  const auto& from = info(node.inputs[0]);
  const auto& to = info(node.outputs[0]);
  const Groups& read = groups(node.inputs[0]);
  return read.axis == 1 && !read.channels.empty() && from && to && from->shape.rank() == 4 &&
         to->shape.rank() == 4 && from->shape[1] == to->shape[1];
}

bool ChannelGroups::join(const Node& node) {
  const Groups& a = groups(node.inputs[0]);
  const Groups& b = groups(node.inputs[1]);
  const auto& shape_a = info(node.inputs[0]);
  const auto& shape_b = info(node.inputs[1]);
  if (a.channels.empty() || a.axis != b.axis || a.channels.size() != b.channels.size() ||
      !shape_a || !shape_b || shape_a->shape != shape_b->shape) {
    return false;
  }
  std::vector<ChannelGroup> joined;
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    joined.push_back(merge(a.channels[c], b.channels[c]));
  }
  groups(node.outputs[0]) = {a.axis, std::move(joined), nullptr};
  return true;
}

bool ChannelGroups::concatenate(const Node& node) {
  const auto& result = info(node.outputs[0]);
  if (!result) return false;
  const std::int64_t given = node.get_int("axis", 1);
  const std::int64_t axis = given < 0 ? given + result->shape.rank() : given;
  std::vector<ChannelGroup> all;
  for (const ValueId input : node.inputs) {
    const Groups& part = groups(input);
    const auto& shape = info(input);
    if (!shape || part.axis != axis || std::ssize(part.channels) != shape->shape[axis]) {
      return false;
    }
    all.insert(all.end(), part.channels.begin(), part.channels.end());
  }
  groups(node.outputs[0]) = {axis, std::move(all), nullptr};
  return true;
}

bool ChannelGroups::move(NodeId id) {
  Node node = graph_.node(id);
  const ValueId from = node.inputs[0];
  if (!any_free(from)) return false;  // locked stays locked
  const auto& known = info(from);
  if (!known || known->dtype != DType::kFloat32 || known->shape.elements() == 0) {
    return false;
  }
  if (known->shape.elements() > kMaxMoved - moved_) return false;
  moved_ += known->shape.elements();
  // A graph with this operator alone. Its input holds the numbers of the groups.
  Graph alone;
  alone.info.opsets = graph_.info.opsets;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Value& value = shaped_.graph.value(node.inputs[i]);
    if (i > 0 && value.constant == nullptr) return false;
    std::shared_ptr<const Tensor> constant = value.constant;
    if (i == 0) {
      Tensor elements(DType::kFloat32, known->shape);
      const Groups& source = groups(from);
      if (source.elements) {
        elements = source.elements->clone();
      } else {
        const auto to = elements.values<float>();
        const auto stride =
            static_cast<std::size_t>(stride_of(known->shape, Layout::kPlain, source.axis));
        for (std::size_t e = 0; e < to.size(); ++e) {
          to[e] = static_cast<float>(source.channels[e / stride % source.channels.size()]);
        }
      }
      constant = std::make_shared<const Tensor>(std::move(elements));
    } else if (node.is("Pad") && i == 2 && constant_float(shaped_.graph, node.inputs[i]) != 0.0F) {
      return false;
    }
    node.inputs[i] = alone.add_constant(alone.unique_name("operand"), std::move(constant));
  }
  const std::vector<ValueId> outputs = node.outputs;
  for (ValueId& output : node.outputs) {
    if (output != kNoValue) output = alone.add_value(alone.unique_name("result"));
  }
  auto results = evaluate_node(alone, alone.add_node(std::move(node)), LoweredParams{});
  if (!results || results->size() != outputs.size()) return false;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o] != kNoValue) set_elements(outputs[o], std::move((*results)[o]));
  }
  return true;
}

void ChannelGroups::set_elements(ValueId id, Tensor elements) {
  const std::int64_t rank = elements.shape().rank();
  if (rank >= 2 && elements.elements() > 0) {
    // Channels that all belong to one group may lie along several axes.
    const std::int64_t usual = channel_axis(graph_, id, rank);  // 1 or the last
    for (const std::int64_t axis : {usual, rank - usual}) {
      std::vector<ChannelGroup> channels = groups_along(elements, axis);
      if (channels.empty()) continue;
      groups(id) = {axis, std::move(channels), nullptr};
      return;
    }
  }
  groups(id).elements = std::make_shared<const Tensor>(std::move(elements));
}

std::vector<ChannelGroup> ChannelGroups::groups_along(const Tensor& elements,
                                                      std::int64_t axis) const {
  const auto numbers = elements.values<float>();
  const auto stride = static_cast<std::size_t>(stride_of(elements.shape(), Layout::kPlain, axis));
  std::vector<ChannelGroup> channels(static_cast<std::size_t>(elements.shape()[axis]),
                                     ChannelGroup::kZero);
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    const ChannelGroup group =
        root(static_cast<ChannelGroup>(static_cast<std::int32_t>(numbers[e])));
    ChannelGroup& channel = channels[e / stride % channels.size()];
    if (group == ChannelGroup::kZero || channel == group) continue;  // zeros fit any channel
    if (channel != ChannelGroup::kZero) return {};
    channel = group;
  }
  return channels;
}

}  // namespace qtool
