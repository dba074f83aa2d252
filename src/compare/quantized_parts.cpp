#include "compare/quantized_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/channel_axis.h"
#include "graph/constant_float.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "ops/evaluate.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/wide_tensors.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

const Tensor* constant_of(const Graph& graph, const Node& node, std::size_t input) {
  return node.has_input(input) ? graph.value(node.inputs[input]).constant.get() : nullptr;
}

const Node* producer_of(const Graph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  return producer == kNoNode ? nullptr : &graph.node(producer);
}

/// The scale, zero point and limits of a QuantizeLinear with a single constant scale and zero
/// point; nullopt for any other.
std::optional<QuantizedActivation> rounding_of(const Graph& graph, const Node& quantize) {
  const std::optional<float> scale = constant_float(graph, quantize.inputs[1]);
  const Tensor* zero_point = constant_of(graph, quantize, 2);
  if (!scale) return {};
  if (quantize.has_input(2) && zero_point == nullptr) return {};
  QuantizedActivation found;
  found.affine.scale = *scale;
  DType dtype = DType::kUInt8;
  if (zero_point != nullptr) {
    dtype = zero_point->dtype();
    if (zero_point->elements() != 1) return {};
  }
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16;
  if (!is_signed && dtype != DType::kUInt8 && dtype != DType::kUInt16) return {};
  const std::int32_t levels = 1 << (8 * size_of(dtype));
  found.limits = is_signed ? Limits{-levels / 2, levels / 2 - 1} : Limits{0, levels - 1};
  if (zero_point != nullptr) {
    found.affine.zero_point = static_cast<std::int32_t>(to_int64s(*zero_point)[0]);
  }
  return found;
}

/// The tensor that is rounded. A Clip before a QuantizeLinear keeps integers of few bits within
/// their limits, so it counts as a part of the rounding, and its input is returned. If the Clip
/// replaces a Relu or a wider Clip of FP32, FP32 has a tensor with the name of its result, and
/// `real` is returned.
ValueId before_clip(const Graph& int8, ValueId real, const Graph& fp32,
                    QuantizedActivation& found) {
  const Node* clip = producer_of(int8, real);
  if (clip == nullptr || !clip->is("Clip")) return real;
  if (clip->has_input(1)) found.low = constant_float(int8, clip->inputs[1]).value_or(found.low);
  if (clip->has_input(2)) found.high = constant_float(int8, clip->inputs[2]).value_or(found.high);
  return fp32.find_value(int8.value(real).name) ? real : clip->inputs[0];
}

/// Undoes the scaling of channels in the constants of a layer, so that they can be compared with
/// the constants of the FP32 network.
class Unscaled {
 public:
  Unscaled(const Graph& fp32, const ScaledChannels& scaled, NodeId node)
      : fp32_(fp32), node_(node), ports_(weight_ports(fp32, node)) {
    if (!ports_) return;
    const auto reciprocals = [&](ValueId id) {
      std::vector<double> by;
      const ChannelScaling* scaling = scaled.find(fp32.value(id).name);
      if (scaling == nullptr) return by;
      for (const double factor : scaling->factors) by.push_back(1.0 / factor);
      return by;
    };
    in_ = reciprocals(fp32.node(node).inputs[0]);
    out_ = reciprocals(fp32.node(node).outputs[0]);
  }

  /// The constant `changed` of the INT8 model, scaled back. It replaces the FP32 constant `id`. If
  /// the two differ only by the scaling, the FP32 constant is returned.
  [[nodiscard]] std::shared_ptr<const Tensor> operator()(
      ValueId id, std::shared_ptr<const Tensor> changed) const {
    const bool is_weight = ports_ && id == ports_->weight;
    const bool is_bias = ports_ && id == ports_->bias;
    if ((in_.empty() && out_.empty()) || !(is_weight || is_bias)) return changed;
    Tensor own = changed->clone();
    const std::span<float> values = own.values<float>();
    if (is_weight) {
      scale_weights(fp32_, node_, *ports_, in_, out_, own);
    } else {
      for (std::size_t o = 0; o < std::min(values.size(), out_.size()); ++o) {
        values[o] = static_cast<float>(values[o] / out_[o]);
      }
    }
    const std::shared_ptr<const Tensor>& real = fp32_.value(id).constant;
    return equal_but_for_rounding(real->values<float>(), values)
               ? real
               : std::make_shared<const Tensor>(std::move(own));
  }

 private:
  static bool equal_but_for_rounding(std::span<const float> a, std::span<const float> b) {
    // The values were scaled twice, and rounded to float each time.
    constexpr float kTolerance = 4.0F * std::numeric_limits<float>::epsilon();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > kTolerance * std::abs(a[i])) return false;
    }
    return true;
  }

  const Graph& fp32_;
  NodeId node_;
  std::optional<WeightPorts> ports_;
  std::vector<double> in_;
  std::vector<double> out_;
};

/// Treats both bytes of a wide tensor as one integer with finer steps.
void widen(QuantizedActivation& activation) {
  constexpr auto kSteps = static_cast<std::int32_t>(kWideSteps);
  const std::int32_t zero_point = activation.affine.zero_point;
  activation.affine = {activation.affine.scale / kWideSteps, 0};
  activation.limits = {kSteps * (activation.limits.min - zero_point) - kSteps / 2,
                       kSteps * (activation.limits.max - zero_point) + kSteps / 2};
}

std::vector<QuantizedActivation> activations_of(const Graph& fp32, const Graph& int8,
                                                const ScaledChannels& scaled,
                                                std::vector<std::string>& not_compared) {
  std::vector<QuantizedActivation> activations;
  std::unordered_map<ValueId, Affine> affine_of;  // by dequantized tensor
  std::unordered_set<std::string> seen;
  for (const NodeId id : int8.nodes()) {
    const Node& node = int8.node(id);
    if (!node.is("DequantizeLinear")) continue;
    const Node* quantize = producer_of(int8, node.inputs[0]);
    if (quantize == nullptr || !quantize->is("QuantizeLinear")) continue;
    std::optional<QuantizedActivation> found = rounding_of(int8, *quantize);
    if (!found) continue;
    affine_of[node.outputs[0]] = found->affine;
    const ValueId real = before_clip(int8, quantize->inputs[0], fp32, *found);
    found->tensor = int8.value(real).name;
    const std::optional<ValueId> counterpart = fp32.find_value(found->tensor);
    if (!counterpart || fp32.is_constant(*counterpart)) continue;
    // Skip elements that were already rounded to this scale and only moved since then.
    const Node* mover = producer_of(int8, real);
    if (mover != nullptr && traits_of(*mover).kind == OpKind::kMoving) {
      const auto source = affine_of.find(mover->inputs[0]);
      if (source != affine_of.end() && source->second == found->affine) continue;
    }
    const ChannelScaling* scaling = scaled.find(found->tensor);
    if (!seen.insert(found->tensor).second) continue;
    if (is_wide(int8, real, node.outputs[0])) widen(*found);
    if (scaling != nullptr && scaling->factors.empty()) {
      not_compared.push_back(found->tensor);
      continue;
    }
    if (scaling != nullptr) found->divided = *scaling;
    found->channels_last = channels_are_last(fp32, *counterpart);
    activations.push_back(*std::move(found));
  }
  return activations;
}

}  // namespace

std::shared_ptr<const Tensor> reals_of(const Graph& graph, ValueId id) {
  if (graph.is_constant(id)) return graph.value(id).constant;
  const NodeId producer = graph.value(id).producer;
  if (producer == kNoNode) return nullptr;
  const Node& node = graph.node(producer);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.has_input(i) && constant_of(graph, node, i) == nullptr) return nullptr;
  }
  if (!node.is("DequantizeLinear")) return nullptr;
  std::optional<std::vector<Tensor>> outputs = evaluate_node(graph, producer, LoweredParams{});
  if (!outputs) return nullptr;
  return std::make_shared<const Tensor>(std::move(outputs->front()));
}

Graph with_integer_weights(Graph graph) {
  for (const NodeId id : std::vector<NodeId>(graph.nodes())) {
    const Node& node = graph.node(id);
    if (!node.is("QuantizeLinear") || constant_of(graph, node, 0) == nullptr) continue;
    std::optional<std::vector<Tensor>> outputs = evaluate_node(graph, id, LoweredParams{});
    if (!outputs) continue;
    graph.set_constant(node.outputs[0],
                       std::make_shared<const Tensor>(std::move(outputs->front())));
  }
  graph.remove_dead_nodes();
  return graph;
}

bool is_wide(const Graph& int8, ValueId real, ValueId dequantized) {
  if (!int8.info.metadata.contains(std::string(kWideKey))) return false;
  return std::ranges::any_of(int8.consumers(dequantized), [&](NodeId reader) {
    const Node& node = int8.node(reader);
    return node.is("Sub") && node.inputs[0] == real && node.inputs[1] == dequantized;
  });
}

Range range_of(const QuantizedActivation& activation) {
  const Range range = represented_range(activation.affine, activation.limits);
  return {std::max(range.min, activation.low), std::min(range.max, activation.high)};
}

QuantizedParts quantized_parts(const Graph& fp32, const Graph& emitted) {
  const Graph int8 = with_integer_weights(emitted);
  QuantizedParts parts;
  const ScaledChannels scaled = scaled_channels_of(emitted);
  parts.activations = activations_of(fp32, int8, scaled, parts.not_compared);
  parts.with_weights = fp32;
  parts.without_biases = fp32;
  const auto counterparts = nodes_by_name(int8);
  for (const NodeId id : fp32.nodes()) {
    const Node& node = fp32.node(id);
    const auto found = counterparts.find(name_of(fp32, id));
    if (found == counterparts.end() || int8.node(found->second).op_type != node.op_type) continue;
    const Node& counterpart = int8.node(found->second);
    bool other = false;
    const Unscaled unscaled(fp32, scaled, id);
    const std::optional<WeightPorts> ports = weight_ports(fp32, id);
    for (std::size_t i = 0; i < node.inputs.size() && i < counterpart.inputs.size(); ++i) {
      const Tensor* real = constant_of(fp32, node, i);
      if (real == nullptr || real->dtype() != DType::kFloat32 || !counterpart.has_input(i))
        continue;
      std::shared_ptr<const Tensor> changed = reals_of(int8, counterpart.inputs[i]);
      if (changed == nullptr || changed->dtype() != DType::kFloat32 ||
          changed->shape() != real->shape()) {
        parts.not_compared.push_back(fp32.value(node.inputs[i]).name);
        continue;
      }
      changed = unscaled(node.inputs[i], std::move(changed));
      if (identical(*real, *changed)) continue;
      parts.with_weights.set_constant(node.inputs[i], changed);
      if (ports && node.inputs[i] == ports->bias) {
        parts.other_bias.insert(id);
      } else {
        parts.without_biases.set_constant(node.inputs[i], std::move(changed));
        parts.other_weights.insert(id);
      }
      other = true;
    }
    if (other) parts.weighted.push_back(id);
  }
  return parts;
}

}  // namespace qtool
