#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "graph/clamp.h"
#include "quantize/added_bias.h"
#include "quantize/emission/emit.h"
#include "quantize/emission/wide.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/integer_bias.h"
#include "quantize/weights/integer_weights.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

/// How the result of a QuantizeLinear stays within the limits of its scheme: by the limits of its
/// type, or by a Clip before it.
enum class Saturation : std::uint8_t { kByType, kByClip };

/// Writes one graph. Names of added tensors are short, because in a small network names are a good
/// part of the file. The added nodes have no names and are identified by their outputs.
class Emitter {
 public:
  Emitter(const Graph& graph, const Target& target, const ActivationAffines& activations,
          QuantizeReport& report)
      : graph_(graph), target_(target), activations_(activations), report_(report) {}

  /// Adds a layer whose stages are done. `corrected`: bias correction changed its bias.
  void add_layer(const Layer& layer, bool corrected) {
    const NodeId id = layer.node;
    report_.output_channels += layer.ports.channels;
    const bool recurrent = is_recurrent(graph_, id);
    if (recurrent && corrected) add_to_recurrent_bias(graph_, id, layer.bias);
    graph_.set_input(id, layer.ports.input, weight_behind(layer));
    if (recurrent) return;  // its biases stay in FP32, as its gates do
    if (const auto added = added_bias(graph_, id, layer.ports)) {
      if (corrected) add_to_added_bias(graph_, *added, layer.bias);
      return;
    }
    if (target_.constants == ConstantForm::kReals) {
      if (corrected || layer.ports.bias_factor != 1.0F) {
        graph_.set_input(id, 2, real_row(id, layer.ports, layer.bias));
      }
    } else if (layer.ports.bias != kNoValue || corrected) {
      const float input_scale = layer.input.affine.value().scale;
      graph_.set_input(
          id, 2,
          bias_behind(id, layer.ports, layer.bias,
                      bias_scales(layer.affines.scales, layer.bias.size(), input_scale)));
    }
    auto& attributes = graph_.attributes(id);
    attributes.erase("alpha");  // both are multiplied into the weights and bias
    attributes.erase("beta");
  }

  /// Replaces the constant at `input` of a node by integers of the activations' type, followed by a
  /// DequantizeLinear.
  void quantize_constant(NodeId id, std::size_t input) {
    const ValueId value = graph_.node(id).inputs[input];
    // A constant that was added after the affine maps were chosen, such as a corrected bias, has
    // none.
    std::optional<Affine> chosen;
    if (activations_.by_value.contains(value)) chosen = activations_.by_value[value];
    const Tensor& real = *graph_.value(value).constant;
    const Affine affine = chosen ? *chosen : choose_affine(range_of(real), target_.activations);
    const auto key =
        std::tuple(value, std::bit_cast<std::uint32_t>(affine.scale), affine.zero_point);
    auto [it, fresh] = constants_.try_emplace(key, kNoValue);
    if (fresh) {
      const std::string name = name_stem(graph_.value(value).name);
      const ValueId integers =
          target_.constants == ConstantForm::kReals
              ? quantized(name, {value, scale(affine), zero_point(affine)}, -1)
              : add_constant(to_text(name, "_q"), quantized_activation(real, affine));
      it->second = dequantize(to_text(name, "_dq"), {integers, scale(affine), zero_point(affine)});
    }
    graph_.set_input(id, input, it->second);
  }

  /// QuantizeLinear saturates at the limits of its type only.
  [[nodiscard]] Saturation saturation() const {
    return target_.activations.bits < 8 ? Saturation::kByClip : Saturation::kByType;
  }

  /// Returns the result of the pair.
  ValueId add_pair(ValueId value, Saturation saturation) {
    const Affine affine = affine_of(value);
    const std::string name = graph_.value(value).name;
    const std::string stem = name_stem(name);
    const ValueId real = graph_.add_value(graph_.unique_name(to_text(stem, "_dq")));
    graph_.replace_uses(value, real);
    if (graph_.is_output(value) && !graph_.is_input(value)) {
      // The graph output keeps its name, but is now the dequantized tensor, which integer nodes
      // read.
      graph_.replace_output(value, real);
      graph_.rename_value(value, graph_.unique_name(to_text(name, "_fp32")));
      graph_.rename_value(real, name);
      const Value old = graph_.value(value);
      graph_.declare(real, old.dtype, old.shape);
    }
    const ValueId clipped = saturation == Saturation::kByClip ? clip(value, affine) : value;
    const ValueId integers = graph_.add_value(graph_.unique_name(to_text(stem, "_q")));
    add_node("QuantizeLinear", {clipped, scale(affine), zero_point(affine)}, integers, -1);
    add_node("DequantizeLinear", {integers, scale(affine), zero_point(affine)}, real, -1);
    ++report_.quantized_tensors;
    return real;
  }

  Graph finish() {
    graph_.sort();
    graph_.check();
    return std::move(graph_);
  }

 private:
  [[nodiscard]] bool needs_zeros(NodeId id) const {
    const auto& ops = target_.explicit_zero_ops;
    return std::find(ops.begin(), ops.end(), graph_.node(id).op_type) != ops.end();
  }

  [[nodiscard]] Affine affine_of(ValueId id) const {
    const auto& affine = activations_.by_value[id];
    QTOOL_CHECK(affine.has_value());
    return *affine;
  }

  /// Keeps a tensor within the range that its integers represent: narrows the Relu or Clip that
  /// produces it, or adds a Clip. Returns the clipped tensor.
  ValueId clip(ValueId value, const Affine& affine) {
    Range range = represented_range(affine, limits_of(target_.activations));
    const NodeId producer = graph_.value(value).producer;
    const std::optional<Range> bounds =
        producer == kNoNode ? std::nullopt : clamp_of(graph_, graph_.node(producer));
    if (!bounds || bounds->min > bounds->max) return add_clip(value, range);
    // A bound may lie beyond the other end of the range. Then both bounds become that end.
    range.min = std::clamp(bounds->min, range.min, range.max);
    range.max = std::clamp(bounds->max, range.min, range.max);
    graph_.set_op(producer, "Clip");
    graph_.set_input(producer, 1, real_scalar(range.min));
    graph_.set_input(producer, 2, real_scalar(range.max));
    return value;
  }

  ValueId add_clip(ValueId value, const Range& range) {
    const ValueId clipped =
        graph_.add_value(graph_.unique_name(to_text(name_stem(graph_.value(value).name), "_clip")));
    add_node("Clip", {value, real_scalar(range.min), real_scalar(range.max)}, clipped, -1);
    return clipped;
  }

  ValueId real_scalar(float value) {
    auto [it, fresh] = bounds_.try_emplace(std::bit_cast<std::uint32_t>(value), kNoValue);
    if (fresh) it->second = add_constant("bound", Tensor::scalar<float>(value));
    return it->second;
  }

  ValueId add_constant(const std::string& name, Tensor tensor) {
    return graph_.add_constant(graph_.unique_name(name), std::move(tensor));
  }

  void add_node(std::string_view op, std::vector<ValueId> inputs, ValueId output,
                std::int64_t axis) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    if (axis >= 0) node.attributes["axis"] = axis;
    graph_.add_node(std::move(node));
    ++report_.added_nodes;
  }

  ValueId dequantize(const std::string& name, std::vector<ValueId> inputs, std::int64_t axis = -1) {
    const ValueId output = graph_.add_value(graph_.unique_name(name));
    add_node("DequantizeLinear", std::move(inputs), output, axis);
    return output;
  }

  /// Adds a QuantizeLinear that makes integers of a constant while the model runs.
  ValueId quantized(const std::string& name, std::vector<ValueId> inputs, std::int64_t axis) {
    const ValueId output = graph_.add_value(graph_.unique_name(to_text(name, "_q")));
    add_node("QuantizeLinear", std::move(inputs), output, axis);
    return output;
  }

  /// The constants for a scale and a zero point. Tensors with equal values share one constant: for
  /// example, the zero points of all tensors after a Relu are equal.
  ValueId scale(const Affine& affine) {
    auto [it, fresh] = scales_.try_emplace(std::bit_cast<std::uint32_t>(affine.scale), kNoValue);
    if (fresh) it->second = add_constant("scale", Tensor::scalar<float>(affine.scale));
    return it->second;
  }
  ValueId zero_point(const Affine& affine) {
    auto [it, fresh] = zero_points_.try_emplace(affine.zero_point, kNoValue);
    if (fresh) {
      it->second = add_constant(
          "zero", target_.activations.dtype == DType::kUInt8
                      ? Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(affine.zero_point))
                      : Tensor::scalar<std::int8_t>(static_cast<std::int8_t>(affine.zero_point)));
    }
    return it->second;
  }

  [[nodiscard]] Tensor quantized_activation(const Tensor& real, const Affine& affine) const {
    const Limits limits = limits_of(target_.activations);
    Tensor integers(target_.activations.dtype, real.shape());
    const auto from = real.values<float>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int32_t q = quantize_value(from[i], affine, limits);
      integers.data()[i] = static_cast<std::byte>(static_cast<std::uint8_t>(q));
    }
    return integers;
  }

  /// Zero points for weights, shared by all scales of one shape.
  ValueId zero_points_like(const Shape& shape) {
    auto [it, fresh] = weight_zeros_.try_emplace(shape.dims(), kNoValue);
    if (fresh) it->second = add_constant("zeros", Tensor(target_.weights.dtype, shape));
    return it->second;
  }

  static Tensor int8_tensor(const std::vector<std::int32_t>& values, const Shape& shape) {
    Tensor tensor(DType::kInt8, shape);
    std::transform(values.begin(), values.end(), tensor.values<std::int8_t>().begin(),
                   [](std::int32_t value) { return static_cast<std::int8_t>(value); });
    return tensor;
  }

  static Tensor row(const std::vector<float>& values) {
    return Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
  }

  /// Reals that a QuantizeLinear rounds to the integers of the layer.
  ValueId real_weights_of(const Layer& layer, const std::string& name) {
    const Tensor nearest = quantize_weights(layer.weights, layer.scheme, layer.affines);
    if (digest(nearest) != digest(layer.integers)) {
      return add_constant(to_text(name, "_rounded"),
                          dequantize_weights(layer.integers, layer.affines));
    }
    if (layer.ports.weight_factor == 1.0F) return layer.ports.weight;
    return add_constant(to_text(name, "_scaled"), layer.weights.clone());
  }

  /// The dequantized weights of a layer. Layers with equal integers, scales and zero points share
  /// them.
  ValueId weight_behind(const Layer& layer) {
    const WeightPorts& ports = layer.ports;
    const Affines& affines = layer.affines;
    const bool zeros = needs_zeros(layer.node);
    const auto key = std::tuple(ports.weight, ports.axis, ports.weight_factor, layer.scheme.bits,
                                affines.scales, affines.zero_points, zeros, digest(layer.integers));
    auto [it, fresh] = weights_.try_emplace(key, kNoValue);
    if (!fresh) return it->second;
    const std::string name = name_stem(graph_.value(ports.weight).name);
    const bool reals = target_.constants == ConstantForm::kReals;
    report_.weight_bytes += reals ? layer.weights.bytes() : layer.integers.bytes();
    const ValueId w = reals ? kNoValue : add_constant(to_text(name, "_q"), layer.integers.clone());
    const ValueId s = add_constant(
        to_text(name, "_s"),
        affines.axis >= 0 ? row(affines.scales) : Tensor::scalar<float>(affines.scales[0]));
    std::vector<ValueId> inputs = {w, s};
    if (!affines.zero_points.empty()) {
      inputs.push_back(
          add_constant(to_text(name, "_z"),
                       int8_tensor(affines.zero_points, graph_.value(s).constant->shape())));
    } else if (zeros || reals) {
      inputs.push_back(zero_points_like(graph_.value(s).constant->shape()));
    }
    if (reals) {  // a QuantizeLinear makes the integers while the model runs
      inputs[0] = quantized(name, {real_weights_of(layer, name), s, inputs[2]}, affines.axis);
    }
    it->second = dequantize(to_text(name, "_dq"), std::move(inputs), affines.axis);
    return it->second;
  }

  /// The FP32 constant for a bias that is not quantized.
  ValueId real_row(NodeId id, const WeightPorts& ports, const std::vector<float>& bias) {
    auto [it, fresh] =
        biases_.try_emplace(std::tuple(ports.bias, bias, std::vector<float>()), kNoValue);
    if (fresh) {
      const ValueId named = ports.bias == kNoValue ? graph_.node(id).outputs[0] : ports.bias;
      it->second = add_constant(to_text(name_stem(graph_.value(named).name), "_bias"), row(bias));
    }
    return it->second;
  }

  ValueId bias_behind(NodeId id, const WeightPorts& ports, const std::vector<float>& bias,
                      const std::vector<float>& scales) {
    auto [it, fresh] = biases_.try_emplace(std::tuple(ports.bias, bias, scales), kNoValue);
    if (fresh) {
      const std::string name =
          ports.bias == kNoValue
              ? to_text(name_stem(graph_.value(graph_.node(id).outputs[0]).name), "_bias")
              : name_stem(graph_.value(ports.bias).name);
      const ValueId b = add_constant(to_text(name, "_q"), quantize_bias(bias, scales));
      const ValueId s = add_constant(to_text(name, "_s"), row(scales));
      it->second = dequantize(to_text(name, "_dq"), {b, s}, 0);
    }
    return it->second;
  }

  Graph graph_;
  const Target& target_;
  const ActivationAffines& activations_;
  QuantizeReport& report_;
  std::map<std::uint32_t, ValueId> scales_;
  std::map<std::uint32_t, ValueId> bounds_;
  std::map<std::int32_t, ValueId> zero_points_;
  std::map<std::tuple<ValueId, std::uint32_t, std::int32_t>, ValueId> constants_;
  std::map<std::vector<std::int64_t>, ValueId> weight_zeros_;
  std::map<std::tuple<ValueId, std::int64_t, float, int, std::vector<float>,
                      std::vector<std::int32_t>, bool, std::uint64_t>,
           ValueId>
      weights_;
  std::map<std::tuple<ValueId, std::vector<float>, std::vector<float>>, ValueId> biases_;
};

}  // namespace

/// Puts a QuantizeLinear/DequantizeLinear pair after each quantized tensor. Weights become int8,
/// biases int32, and other constants integers of the activations' type. A DequantizeLinear follows
/// each of them. If the target stores FP32 constants, weights and other constants stay FP32 and a
/// pair follows each of them. A QuantizeLinear saturates only at the limits of 8 bits, so a Clip
/// before it keeps integers of fewer bits within their limits. If the graph has a Relu or Clip
/// there, that node becomes this Clip.
Graph emit_qdq(const Decisions& decisions, QuantizeReport& report) {
  const auto& [graph, placement, target, activations, stages] = decisions;
  Emitter emitter(graph, target, activations, report);
  std::unordered_set<NodeId> in_tables;
  for (const ElementFunction& function : placement.functions) {
    in_tables.insert(function.nodes.begin(), function.nodes.end());
  }
  for (const NodePlacement& placed : placement.nodes) {
    if (placed.role != NodeRole::kInteger || in_tables.contains(placed.id)) continue;
    for (const WeightPorts& ports : stored_weight_ports(graph, placed.id)) {
      const StagedLayer staged = stages(placed.id, ports);
      emitter.add_layer(staged.layer, staged.corrected);
    }
    for (const std::size_t input : activation_inputs(graph, placed.id)) {
      if (graph.is_constant(graph.node(placed.id).inputs[input])) {
        emitter.quantize_constant(placed.id, input);
      }
    }
  }
  std::unordered_map<ValueId, ValueId> rounded;
  for (const ValueId id : placement.quantized) {
    // A node that only moves integers cannot exceed the limits that its input keeps.
    const bool moved = placement.source[id] != id;
    rounded.emplace(id, emitter.add_pair(id, moved ? Saturation::kByType : emitter.saturation()));
  }
  Graph emitted = emitter.finish();
  emit_wide(decisions, rounded, emitted, report);
  return emitted;
}

}  // namespace qtool
