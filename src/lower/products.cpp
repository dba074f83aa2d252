// Lowering of the operators with weights: Conv, ConvTranspose, Gemm, MatMul.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "lower/passes.h"
#include "quant/weight_extremes.h"
#include "tensor/transposed.h"

namespace qtool {
namespace {

// int32 biases at the scale s_x s_w[c]; nothing when one does not fit. `reals` may be empty.
std::optional<std::vector<std::int32_t>> integer_bias(const std::vector<double>& reals,
                                                      float input_scale,
                                                      const std::vector<float>& weight_scales) {
  std::vector<std::int32_t> bias;
  for (std::size_t c = 0; c < reals.size(); ++c) {
    const float scale = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : c];
    const double exact = std::nearbyint(reals[c] / static_cast<double>(scale));
    if (!(std::abs(exact) < std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    bias.push_back(static_cast<std::int32_t>(exact));
  }
  return bias;
}

struct Bias {
  std::vector<std::int32_t> integers;  // at the scale s_x s_w[c]; empty without a bias
  bool stored = false;                 // the integers are stored in the model
};

// The bias of a node as integers at the scale s_x s_w[c]: the stored integers when they have that
// scale, otherwise rounded to it.
std::optional<Bias> read_bias(const Clusters& c, const Node& node, std::size_t index,
                              float input_scale, const std::vector<float>& weight_scales,
                              std::int64_t channels) {
  if (!node.has_input(index)) return Bias{};
  std::vector<double> reals = c.constant_reals(node.inputs[index]);
  if (reals.size() == 1) reals.resize(static_cast<std::size_t>(channels), reals[0]);
  if (static_cast<std::int64_t>(reals.size()) != channels) return std::nullopt;
  const NodeId producer = c.graph.value(node.inputs[index]).producer;
  if (producer != kNoNode) {
    const std::optional<Affines> affines = c.affines(producer);
    const Tensor& stored = *c.graph.value(c.graph.node(producer).inputs[0]).constant;
    bool same_scale =
        affines && c.integer_type(producer) == DType::kInt32 && stored.elements() == channels;
    for (std::size_t i = 0; same_scale && i < reals.size(); ++i) {
      const float wanted = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : i];
      const Affine found = affines->at(i);
      same_scale = found.zero_point == 0 && std::abs(found.scale - wanted) <= 1e-6F * wanted;
    }
    if (same_scale) {
      const auto integers = stored.values<std::int32_t>();
      return Bias{{integers.begin(), integers.end()}, true};
    }
  }
  auto integers = integer_bias(reals, input_scale, weight_scales);
  if (!integers) return std::nullopt;
  return Bias{std::move(*integers), false};
}

struct ProductParts {
  Clusters::Source source;
  Clusters::Weights weights;
  Bias bias;
  std::int64_t channels = 0;
};

// Whether the sums of all output channels fit into int32, as PackedConv demands.
bool integer_sums_fit(const ProductParts& parts, const Tensor& weights) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto values = weights.values<std::int8_t>();
  const auto channels = static_cast<std::size_t>(parts.channels);
  const std::size_t depth = channels == 0 ? 0 : values.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::int32_t zero_point = parts.weights.affines.at(c).zero_point;
    const std::int64_t largest = extremes_of(values.subspan(c * depth, depth)).largest(zero_point);
    const auto& integers = parts.bias.integers;
    const std::int64_t bias = integers.empty() ? 0 : std::abs(std::int64_t{integers[c]});
    if (static_cast<std::int64_t>(depth) * 255 * largest + bias >= kLimit) return false;
  }
  return true;
}

// Whether the scales s_x s_w[c] of the sums, and the multipliers s_x s_w[c] / s_y, are finite.
bool has_finite_multipliers(const ProductParts& parts, const std::optional<Clusters::Sink>& sink) {
  const std::vector<float>& scales = parts.weights.affines.scales;
  return std::all_of(scales.begin(), scales.end(), [&](float weight_scale) {
    const float scale = parts.source.affine.scale * weight_scale;
    return are_finite({scale, sink ? scale / sink->result.affine.scale : 0.0F});
  });
}

// One value for each channel of an image, as an operand of another operator.
template <typename T>
ValueId per_channel(Clusters& c, std::string_view name, const std::vector<T>& values) {
  return c.shaped.add_constant(
      name, Tensor::of<T>({std::ssize(values), 1, 1}, std::span<const T>(values)));
}

// Lowers a convolution whose stored bias may push sums out of the range of int32, because another
// tool gave a channel a tiny scale. Such sums wrap around, as the definition of QLinearConv allows
// and other runtimes do. The kernels refuse such a bias, so they compute the sums without it, and
// separate nodes add it and requantize: rint(float(wrapped sum) * multiplier), as in the epilogue
// that these nodes replace.
void lower_wrapping_conv(Clusters& c, NodeId id, const ProductParts& parts,
                         const Clusters::Sink& sink, Tensor weights) {
  const Shape shape = c.shaped.info(c.graph.node(id).outputs[0]).shape;
  const std::string name = c.graph.value(c.graph.node(id).inputs[1]).name;
  const Affines& affines = parts.weights.affines;
  std::vector<float> multipliers;
  std::vector<std::int8_t> zero_points;
  for (std::size_t m = 0; m < static_cast<std::size_t>(parts.channels); ++m) {
    multipliers.push_back(parts.source.affine.scale * affines.at(m).scale);
    multipliers.back() /= sink.result.affine.scale;
    zero_points.push_back(static_cast<std::int8_t>(affines.at(m).zero_point));
  }
  const auto byte = [](std::int32_t value) {
    return Tensor::scalar(static_cast<std::uint8_t>(value));
  };
  const ValueId w = c.shaped.add_constant(name + "_s8", std::move(weights));
  const ValueId x_zero =
      c.shaped.add_constant("qtool_zero_point", byte(parts.source.affine.zero_point));
  const ValueId w_zero = c.shaped.add_constant(
      name + "_zero",
      Tensor::of<std::int8_t>({parts.channels}, std::span<const std::int8_t>(zero_points)));
  const std::vector<ValueId> inputs{parts.source.quantized, w, x_zero, w_zero};
  for (const NodeId absorbed : sink.absorbed) disconnect(c.graph, absorbed);
  c.graph.set_op(id, "ConvInteger");
  for (std::size_t i = 0; i < inputs.size(); ++i) c.graph.set_input(id, i, inputs[i]);
  ValueId value = c.shaped.add_value(name + "_sums", {DType::kInt32, shape});
  c.graph.set_output(id, 0, value);

  const NodeId next = c.graph.node_behind(id);
  const auto then = [&](std::string op_type, std::vector<ValueId> more, DType dtype, bool last,
                        Node::AttributeMap attributes = {}) {
    more.insert(more.begin(), value);
    value = last ? sink.quantized : c.shaped.add_value(to_text(name, "_", op_type), {dtype, shape});
    c.graph.add_node({"", std::move(op_type), "", std::move(more), {value}, std::move(attributes)},
                     next);
  };
  then("Add", {per_channel(c, name + "_bias", parts.bias.integers)}, DType::kInt32, false);
  then("Cast", {}, DType::kFloat32, false, {{"to", std::int64_t{1}}});
  then("Mul", {per_channel(c, name + "_scale", multipliers)}, DType::kFloat32, false);
  const std::int32_t zero_point = sink.result.affine.zero_point;
  const auto limit = [&](std::int32_t integer) {
    return c.shaped.add_constant("qtool_limit",
                                 Tensor::scalar(static_cast<float>(integer - zero_point)));
  };
  then("Clip", {limit(sink.result.low), limit(sink.result.high)}, DType::kFloat32, false);
  const ValueId one = c.shaped.add_constant("qtool_one", Tensor::scalar(1.0F));
  const ValueId zero = c.shaped.add_constant("qtool_zero_point", byte(zero_point));
  then("QuantizeLinear", {one, zero}, DType::kUInt8, true);
}

void finish_product(Clusters& c, NodeId id, std::string_view op_type, const ProductParts& parts,
                    Tensor weights) {
  if (!integer_sums_fit(parts, weights)) {
    if (op_type != "QConv" || !parts.bias.stored || c.requantization != Requantization::kFloat) {
      return;  // stays in FP32
    }
    ProductParts without = parts;
    without.bias = {};
    // Only a convolution with a QuantizeLinear right behind it stands for a QLinearConv. In other
    // forms the sums are reals.
    const std::optional<Clusters::Sink> sink = c.sink(id);
    if (!sink || sink->absorbed.size() != 1 || !integer_sums_fit(without, weights)) return;
    if (!has_finite_multipliers(parts, sink)) return;
    lower_wrapping_conv(c, id, parts, *sink, std::move(weights));
    return;
  }
  std::optional<Clusters::Sink> sink = c.sink(id);
  std::optional<Clusters::Residual> residual;
  if (!sink && op_type == "QConv") residual = c.residual(id);
  if (residual) sink = residual->sink;
  if (!has_finite_multipliers(parts, sink)) return;  // stays in FP32
  const std::string name = c.graph.value(c.graph.node(id).inputs[1]).name;
  const ValueId w = c.shaped.add_constant(name + "_s8", std::move(weights));
  std::vector<ValueId> inputs{parts.source.quantized, w};
  if (!parts.bias.integers.empty()) {
    inputs.push_back(c.shaped.add_constant(
        name + "_bias_i32",
        Tensor::of<std::int32_t>({parts.channels},
                                 std::span<const std::int32_t>(parts.bias.integers))));
  }
  QProductParams params;
  if (residual) {
    inputs.resize(3, kNoValue);
    inputs.push_back(residual->source.quantized);
    params.residual = residual->source.affine;
  }
  params.input = parts.source.affine;
  const Affines& affines = parts.weights.affines;
  const auto count = static_cast<std::int64_t>(affines.scales.size());
  params.weight_scales = std::make_shared<const Tensor>(
      Tensor::of<float>({count}, std::span<const float>(affines.scales)));
  params.weight_zero_points = std::make_shared<const Tensor>(
      Tensor::of<std::int32_t>({count}, std::span<const std::int32_t>(affines.zero_points)));
  if (sink) params.result = sink->result;
  c.replace(id, op_type, inputs, sink, std::move(params));
}

// Whether there is one scale for the tensor, or one scale per output channel along `axis`.
bool fits_channels(const Affines& affines, std::int64_t axis, std::int64_t channels) {
  return affines.per_tensor() ||
         (affines.axis == axis && static_cast<std::int64_t>(affines.scales.size()) == channels);
}

void lower_conv(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::optional<Clusters::Weights> weights = c.weights(node.inputs[1]);
  if (!source || !weights) return;
  const std::int64_t rank = weights->values->shape().rank();
  if (rank != 4 && rank != 5) return;  // lift_rows() has lifted convolutions over one axis
  const std::int64_t channels = weights->values->shape()[0];
  if (!fits_channels(weights->affines, 0, channels)) return;
  auto bias = read_bias(c, node, 2, source->affine.scale, weights->affines.scales, channels);
  if (!bias) return;
  finish_product(c, id, "QConv", {*source, *weights, std::move(*bias), channels},
                 weights->values->clone());
}

// The filters [C, M / groups, kernel...] of a ConvTranspose as [M, C / groups, kernel...].
Tensor by_output_channel(const Tensor& filters, std::int64_t groups) {
  const Shape& shape = filters.shape();
  const std::int64_t inputs = shape[0] / groups;
  const std::int64_t outputs = shape[1];
  std::vector<std::int64_t> dims = shape.dims();
  dims[0] = outputs * groups;
  dims[1] = inputs;
  Tensor result(DType::kInt8, Shape(std::move(dims)));
  const std::int64_t pairs = outputs * groups * inputs;
  const std::int64_t taps = pairs == 0 ? 0 : filters.elements() / pairs;
  const auto* from = filters.values<std::int8_t>().data();
  auto* to = result.values<std::int8_t>().data();
  for (std::int64_t m = 0; m < outputs * groups; ++m) {
    for (std::int64_t c = 0; c < inputs; ++c, to += taps) {
      const std::int64_t input = m / outputs * inputs + c;
      std::copy_n(from + (input * outputs + m % outputs) * taps, taps, to);
    }
  }
  return result;
}

// Axis 1 has the output channels of one group only. All groups share their scales, so these are
// repeated for each group.
void repeat_for_groups(Affines& affines, std::int64_t groups) {
  if (affines.scales.size() == 1) return;
  const std::size_t each = affines.scales.size();
  for (std::size_t i = each; i < each * static_cast<std::size_t>(groups); ++i) {
    affines.scales.push_back(affines.scales[i - each]);
    affines.zero_points.push_back(affines.zero_points[i - each]);
  }
}

void lower_conv_transpose(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  std::optional<Clusters::Weights> weights = c.weights(node.inputs[1]);
  if (!source || !weights) return;
  const Shape& shape = weights->values->shape();
  if (shape.rank() != 4 && shape.rank() != 5) return;    // as in lower_conv()
  const std::int64_t groups = node.get_int("group", 1);  // shape inference has checked it
  constexpr std::int64_t kMaxPhases = 64;                // each has packed weights of its own
  std::int64_t phases = 1;
  for (const std::int64_t stride : node.get_ints("strides", {})) {
    if (stride > kMaxPhases / phases) return;
    phases *= stride;
  }
  if (!fits_channels(weights->affines, 1, shape[1])) return;
  const std::int64_t channels = shape[1] * groups;
  repeat_for_groups(weights->affines, groups);
  auto bias = read_bias(c, node, 2, source->affine.scale, weights->affines.scales, channels);
  if (!bias) return;
  Tensor filters = by_output_channel(*weights->values, groups);
  finish_product(c, id, "QConvTranspose",
                 {*source, std::move(*weights), std::move(*bias), channels}, std::move(filters));
}

// Gemm and MatMul with constant weights become QGemm: weights [N, K], rows of the input flattened.
void lower_gemm(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const bool is_gemm = node.is("Gemm");
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::optional<Clusters::Weights> weights = c.weights(node.inputs[1]);
  if (!source || !weights || weights->values->shape().rank() != 2) return;
  if (c.shaped.info(node.inputs[0]).shape.rank() < 2) return;
  const bool transposed_b = is_gemm && node.get_int("transB", 0) != 0;
  if (is_gemm && (node.get_int("transA", 0) != 0 || node.get_float("alpha", 1.0F) != 1.0F ||
                  (node.has_input(2) && node.get_float("beta", 1.0F) != 1.0F))) {
    return;
  }
  const std::int64_t axis = transposed_b ? 0 : 1;
  const std::int64_t channels = weights->values->shape()[axis];
  if (!fits_channels(weights->affines, axis, channels)) return;
  std::optional<Bias> bias = Bias{};
  if (is_gemm && node.has_input(2)) {
    const Shape& shape = c.shaped.info(node.inputs[2]).shape;
    if (shape.rank() == 2 && shape[0] != 1) return;  // differs from row to row
    bias = read_bias(c, node, 2, source->affine.scale, weights->affines.scales, channels);
  }
  if (!bias) return;
  finish_product(c, id, "QGemm", {*source, *weights, std::move(*bias), channels},
                 transposed_b ? weights->values->clone() : transposed(*weights->values));
}

}  // namespace

void lower_products(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (is_gone(c.graph, id)) continue;  // absorbed by an earlier cluster
    const Node& node = c.graph.node(id);
    if (node.is("Conv")) {
      lower_conv(c, id);
    } else if (node.is("ConvTranspose")) {
      lower_conv_transpose(c, id);
    } else if (node.is("Gemm") || node.is("MatMul")) {
      lower_gemm(c, id);
    }
  }
  c.graph.remove_dead_nodes();
  c.graph.sort();  // a residual may be computed after the convolution that now adds it
}

}  // namespace qtool
