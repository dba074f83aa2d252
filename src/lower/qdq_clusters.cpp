#include "lower/qdq_clusters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/clamp.h"
#include "graph/edit.h"
#include "kernels/conv/conv.h"

namespace qtool {

std::int32_t quantized_bound(float bound, const Affine& affine) {
  if (std::isinf(bound)) return bound > 0 ? kU8Limits.max : kU8Limits.min;
  return quantize_value(bound, affine, kU8Limits);
}

bool are_finite(std::initializer_list<float> multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(),
                     [](float multiplier) { return std::isfinite(multiplier); });
}

std::optional<Affines> Clusters::affines(NodeId id) const {
  const Node& node = graph.node(id);
  if (!node.has_input(1)) return std::nullopt;
  const Tensor* scale = graph.value(node.inputs[1]).constant.get();
  if (scale == nullptr || scale->dtype() != DType::kFloat32 || scale->elements() == 0) {
    return std::nullopt;
  }
  Affines affines;
  const auto scales = scale->values<float>();
  affines.scales.assign(scales.begin(), scales.end());
  for (const float s : affines.scales) {
    if (!(s > 0.0F) || !std::isfinite(s)) return std::nullopt;
  }
  affines.zero_points.assign(affines.scales.size(), 0);
  if (node.has_input(2)) {
    const Tensor* zero = graph.value(node.inputs[2]).constant.get();
    if (zero == nullptr || zero->elements() != scale->elements()) return std::nullopt;
    const std::vector<std::int64_t> points = to_int64s(*zero);
    std::transform(points.begin(), points.end(), affines.zero_points.begin(),
                   [](std::int64_t point) { return static_cast<std::int32_t>(point); });
  }
  const std::int64_t rank = shaped.info(node.inputs[0]).shape.rank();
  const std::int64_t axis = node.get_int("axis", 1);
  affines.axis = axis < 0 ? axis + rank : axis;
  return affines;
}

DType Clusters::integer_type(NodeId id) const {
  const Node& node = graph.node(id);
  return shaped.info(node.is("QuantizeLinear") ? node.outputs[0] : node.inputs[0]).dtype;
}

std::optional<Affine> Clusters::u8_affine(NodeId id) const {
  const std::optional<Affines> found = affines(id);
  if (!found || !found->per_tensor() || integer_type(id) != DType::kUInt8) return std::nullopt;
  return found->at(0);
}

std::optional<Clusters::Source> Clusters::source(ValueId real) const {
  if (real == kNoValue) return std::nullopt;
  const NodeId producer = graph.value(real).producer;
  if (producer == kNoNode || !graph.node(producer).is("DequantizeLinear")) return std::nullopt;
  const ValueId quantized = graph.node(producer).inputs[0];
  const std::optional<Affine> affine = u8_affine(producer);
  if (!affine) return std::nullopt;
  return Source{quantized, *affine};
}

std::optional<Clusters::Sources> Clusters::sources(NodeId id, const Affine& result) const {
  Sources sources;
  for (const ValueId input : graph.node(id).inputs) {
    const std::optional<Source> found = source(input);
    if (!found || !are_finite({found->affine.scale / result.scale})) return std::nullopt;
    sources.quantized.push_back(found->quantized);
    sources.affines.push_back(found->affine);
  }
  return sources;
}

std::optional<Clusters::Sink> Clusters::sink(NodeId producer) const {
  Sink sink;
  ValueId real = graph.node(producer).outputs[0];
  std::optional<Range> clamp;
  while (true) {
    if (graph.is_output(real) || graph.consumers(real).size() != 1) return std::nullopt;
    const NodeId reader = graph.consumers(real).front();
    const Node& node = graph.node(reader);
    if (node.inputs[0] != real) return std::nullopt;
    if (node.is("QuantizeLinear")) {
      const std::optional<Affine> affine = u8_affine(reader);
      if (!affine) return std::nullopt;
      sink.result.affine = *affine;
      sink.quantized = node.outputs[0];
      sink.absorbed.push_back(reader);
      break;
    }
    if (clamp) return std::nullopt;
    clamp = clamp_of(node, [&](ValueId bound) -> std::optional<float> {
      const std::vector<double> reals = constant_reals(bound);
      if (reals.size() != 1) return std::nullopt;
      return static_cast<float>(reals[0]);
    });
    if (!clamp || clamp->min > clamp->max) return std::nullopt;
    sink.absorbed.push_back(reader);
    real = node.outputs[0];
  }
  if (clamp) {
    sink.result.low = quantized_bound(clamp->min, sink.result.affine);
    sink.result.high = quantized_bound(clamp->max, sink.result.affine);
  }
  return sink;
}

std::optional<Clusters::Residual> Clusters::residual(NodeId producer) const {
  const ValueId own = graph.node(producer).outputs[0];
  if (graph.is_output(own) || graph.consumers(own).size() != 1) return std::nullopt;
  const NodeId reader = graph.consumers(own).front();
  const Node& add = graph.node(reader);
  if (!add.is("Add") || add.inputs[0] == add.inputs[1]) return std::nullopt;
  if (!(shaped.info(add.outputs[0]).shape == shaped.info(own).shape)) return std::nullopt;
  const std::optional<Source> other = source(add.inputs[add.inputs[0] == own ? 1 : 0]);
  std::optional<Sink> result = other ? sink(reader) : std::nullopt;
  if (!result || !(other->affine.scale / result->result.affine.scale <= kMaxResidualMultiplier)) {
    return std::nullopt;
  }
  result->absorbed.insert(result->absorbed.begin(), reader);
  return Residual{*other, std::move(*result)};
}

std::optional<Clusters::Weights> Clusters::weights(ValueId real) const {
  if (real == kNoValue) return std::nullopt;
  const NodeId producer = graph.value(real).producer;
  if (producer == kNoNode || !graph.node(producer).is("DequantizeLinear")) return std::nullopt;
  const std::shared_ptr<const Tensor> values = graph.value(graph.node(producer).inputs[0]).constant;
  std::optional<Affines> found = affines(producer);
  if (values == nullptr || !found) return std::nullopt;
  const DType type = integer_type(producer);
  if (type == DType::kInt8) return Weights{values, std::move(*found)};
  if (type != DType::kUInt8) return std::nullopt;
  Tensor relabelled(DType::kInt8, values->shape());
  const auto from = values->values<std::uint8_t>();
  const auto to = relabelled.values<std::int8_t>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<std::int8_t>(from[i] - 128);
  for (std::int32_t& point : found->zero_points) point -= 128;
  return Weights{std::make_shared<const Tensor>(std::move(relabelled)), std::move(*found)};
}

std::vector<double> Clusters::constant_reals(ValueId real) const {
  std::vector<double> reals;
  if (const Tensor* constant = graph.value(real).constant.get(); constant != nullptr) {
    if (constant->dtype() == DType::kFloat32) {
      const auto values = constant->values<float>();
      reals.assign(values.begin(), values.end());
    }
    return reals;
  }
  const NodeId producer = graph.value(real).producer;
  if (producer == kNoNode || !graph.node(producer).is("DequantizeLinear")) return reals;
  const std::shared_ptr<const Tensor> values = graph.value(graph.node(producer).inputs[0]).constant;
  const std::optional<Affines> found = affines(producer);
  if (values == nullptr || !found) return reals;
  if (!found->per_tensor() && values->shape().rank() != 1) return reals;
  const std::vector<std::int64_t> integers = to_int64s(*values);
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const Affine affine = found->at(i);
    reals.push_back(static_cast<double>(affine.scale) *
                    static_cast<double>(integers[i] - affine.zero_point));
  }
  return reals;
}

void Clusters::replace(NodeId id, std::string_view op_type, const std::vector<ValueId>& inputs,
                       const std::optional<Sink>& sink, LoweredParams params) {
  shaped.lower_node(id, op_type, std::move(params));
  shaped.mark_integer(id);
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
  graph.truncate_inputs(id, inputs.size());
  graph.truncate_outputs(id, 1);
  if (!sink) return;
  for (const NodeId absorbed : sink->absorbed) disconnect(graph, absorbed);
  graph.set_output(id, 0, sink->quantized);
}

ValueId Clusters::reshaped(ValueId value, const Shape& shape, NodeId before) {
  const ValueInfo info = shaped.info(value);
  if (info.shape == shape) return value;
  const ValueId view = shaped.add_value(graph.value(value).name + "_view", {info.dtype, shape});
  const ValueId dims = add_dims(shape);
  const NodeId id = graph.add_node({"", "Reshape", "", {value, dims}, {view}, {}}, before);
  if (info.dtype == DType::kUInt8) shaped.mark_integer(id);
  return view;
}

void Clusters::reshape_output(NodeId id, const Shape& shape) {
  const ValueId value = graph.node(id).outputs[0];
  const ValueInfo info = shaped.info(value);
  if (info.shape == shape) return;
  const NodeId next = graph.node_behind(id);
  const ValueId written = shaped.add_value(graph.value(value).name + "_view", {info.dtype, shape});
  graph.set_output(id, 0, written);
  const ValueId dims = add_dims(info.shape);
  const NodeId view = graph.add_node({"", "Reshape", "", {written, dims}, {value}, {}}, next);
  if (info.dtype == DType::kUInt8) shaped.mark_integer(view);
}

ValueId Clusters::add_dims(const Shape& shape) {
  const std::vector<std::int64_t>& dims = shape.dims();
  return shaped.add_constant("qtool_shape",
                             Tensor::of<std::int64_t>({std::ssize(dims)}, std::span(dims)));
}

}  // namespace qtool
