#include "quantize/weights/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/text.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/operands.h"

namespace qtool {
namespace {

constexpr double kBiasLimit = 1073741824.0;  // 2^30: half of int32

/// The elements of a tensor as [outer, channels, inner], with the axes before and after the channel
/// axis joined.
struct ChannelWalk {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;

  ChannelWalk(const Shape& shape, std::int64_t axis) {
    const std::int64_t front = normalize_axis(axis, shape.rank(), "axis of the output channels");
    for (std::int64_t i = 0; i < shape.rank(); ++i) {
      (i < front ? outer : i == front ? channels : inner) *= shape[i];
    }
  }

  /// Calls `visit(channel, index of the element)` in memory order.
  template <typename Visit>
  void each(Visit visit) const {
    std::size_t index = 0;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < inner; ++i) visit(static_cast<std::size_t>(c), index++);
      }
    }
  }
};

/// The largest bias for which the sum of the bias and `depth` products of u8 and weights fits
/// int32.
double bias_limit(std::int64_t depth, std::int32_t magnitude) {
  const double room = 2147483647.0 - 255.0 * magnitude * static_cast<double>(depth);
  return std::clamp(0.999 * room, 1.0, kBiasLimit);
}

bool is_normal_scale(double scale) {
  return scale >= std::numeric_limits<float>::min() && scale <= std::numeric_limits<float>::max();
}

void require_finite(std::span<const float> values, std::string_view what) {
  if (!all_finite(values)) {
    throw Error(ErrorCode::kInvalidArgument, to_text(what, ": found NaN or infinity"));
  }
}

}  // namespace

std::optional<WeightPorts> weight_ports(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<std::int64_t> axis = weight_axis(node);
  if (!axis) return std::nullopt;
  if (!node.has_input(1) || !graph.is_constant(node.inputs[1])) return std::nullopt;
  const bool conv = traits_of(node).kind == OpKind::kConvolution;
  const Shape& shape = graph.value(node.inputs[1]).constant->shape();
  if (conv ? shape.rank() < 3 : shape.rank() != 2) return std::nullopt;
  if (conv) {
    const std::int64_t groups = node.get_int("group", 1);
    if (groups < 1 || shape[0] % groups != 0) return std::nullopt;
  }
  WeightPorts ports;
  ports.weight = node.inputs[1];
  ports.axis = *axis;
  ports.channels = shape[ports.axis];
  ports.depth = shape.elements() / std::max<std::int64_t>(ports.channels, 1);
  if (node.has_input(2)) ports.bias = node.inputs[2];
  if (node.is("Gemm")) {
    ports.weight_factor = node.get_float("alpha", 1.0F);
    ports.bias_factor = node.get_float("beta", 1.0F);
  }
  return ports;
}

bool is_recurrent(const Graph& graph, NodeId id) {
  return traits_of(graph.node(id)).kind == OpKind::kRecurrent;
}

std::vector<WeightPorts> stored_weight_ports(const Graph& graph, NodeId id) {
  std::vector<WeightPorts> all;
  const Node& node = graph.node(id);
  if (!is_recurrent(graph, id)) {
    if (const auto ports = weight_ports(graph, id)) all.push_back(*ports);
    return all;
  }
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (!node.has_input(input) || !graph.is_constant(node.inputs[input])) return {};
    const Shape& shape = graph.value(node.inputs[input]).constant->shape();
    if (shape.rank() != 3) return {};
    // W and R have the same directions and rows, or the layer does not run.
    if (!all.empty()) {
      const Shape& w = graph.value(all.front().weight).constant->shape();
      if (shape[0] != w[0] || shape[1] != w[1]) return {};
    }
    WeightPorts ports;
    ports.input = input;
    ports.weight = node.inputs[input];
    ports.axis = 1;
    ports.channels = shape[1];
    ports.depth = shape[0] * shape[2];
    all.push_back(ports);
  }
  return all;
}

Tensor real_weights(const Graph& graph, const WeightPorts& ports) {
  Tensor weights = to_float32(*graph.value(ports.weight).constant);
  if (ports.weight_factor != 1.0F) {
    for (float& w : weights.values<float>()) w *= ports.weight_factor;
  }
  return weights;
}

std::vector<float> real_bias(const Graph& graph, const WeightPorts& ports) {
  std::vector<float> bias(static_cast<std::size_t>(ports.channels), 0.0F);
  if (ports.bias == kNoValue) return bias;
  const Tensor given = to_float32(*graph.value(ports.bias).constant);
  const auto values = given.values<float>();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    bias[c] = ports.bias_factor * values[values.size() == 1 ? 0 : c];
  }
  return bias;
}

bool suits_winograd(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.is("Conv") || node.get_int("group", 1) != 1) return false;
  const Tensor* weight = graph.value(node.inputs[1]).constant.get();
  if (weight == nullptr || weight->shape().rank() != 4) return false;
  const auto all_one = [&](std::string_view key) {
    const std::vector<std::int64_t> values = node.get_ints(key, {1, 1});
    return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 1; });
  };
  return weight->shape()[2] == 3 && weight->shape()[3] == 3 && all_one("strides") &&
         all_one("dilations");
}

bool has_weights(const Graph& prepared) {
  return std::any_of(prepared.nodes().begin(), prepared.nodes().end(),
                     [&](NodeId id) { return !stored_weight_ports(prepared, id).empty(); });
}

bool has_winograd_weights(const Graph& prepared) {
  return std::any_of(prepared.nodes().begin(), prepared.nodes().end(), [&](NodeId id) {
    return weight_ports(prepared, id).has_value() && suits_winograd(prepared, id);
  });
}

Scheme weight_scheme(const Graph& graph, NodeId id, const Target& target) {
  Scheme scheme = target.weights;
  if (target.winograd_bits && suits_winograd(graph, id)) scheme.bits = *target.winograd_bits;
  return scheme;
}

std::int32_t largest_magnitude(const Scheme& scheme) {
  const Limits limits = limits_of(scheme);
  return scheme.symmetry == Symmetry::kSymmetric ? limits.max : limits.max - limits.min;
}

std::vector<float> fit_scales(std::vector<float> scales, std::span<const float> bias,
                              float input_scale, std::int64_t depth, std::int32_t magnitude) {
  const double limit = bias_limit(depth, magnitude);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double least = std::abs(static_cast<double>(bias[c])) / (input_scale * limit);
    float& scale = scales[scales.size() == 1 ? 0 : c];
    scale = std::max(scale, static_cast<float>(least));
  }
  for (float& scale : scales) {
    if (!is_normal_scale(scale) || !is_normal_scale(static_cast<double>(scale) * input_scale)) {
      scale = 1.0F;
    }
  }
  return scales;
}

Affines choose_weight_affines(const Tensor& weights, std::int64_t axis, std::string_view method,
                              const Scheme& scheme, Granularity granularity,
                              std::span<const float> bias, float input_scale, int threads) {
  const WeightMethodInfo& info = find_weight_method(method);
  const auto values = weights.values<float>();
  require_finite(values, "weights");
  require_finite(bias, "bias");
  const ChannelWalk walk(weights.shape(), axis);
  const std::int64_t slices = granularity == Granularity::kPerChannel ? walk.channels : 1;
  const auto per_slice =
      static_cast<std::size_t>(walk.outer * walk.inner * (slices == 1 ? walk.channels : 1));
  // The weights of each slice must be adjacent. They are already when the channels are the
  // outermost axis.
  std::vector<float> gathered;
  std::span<const float> ordered = values;
  if (slices > 1 && walk.outer > 1) {
    gathered.resize(values.size());
    std::vector<std::size_t> next(static_cast<std::size_t>(slices));
    for (std::size_t c = 0; c < next.size(); ++c) next[c] = c * per_slice;
    walk.each([&](std::size_t channel, std::size_t i) { gathered[next[channel]++] = values[i]; });
    ordered = gathered;
  }
  Affines affines;
  if (granularity == Granularity::kPerChannel) affines.axis = axis;
  affines.scales.resize(static_cast<std::size_t>(slices));
  affines.zero_points.resize(affines.scales.size());
  parallel_items(slices, resolve_threads(threads), [&](std::int64_t slice, int) {
    const auto i = static_cast<std::size_t>(slice);
    const Affine affine = info.choose(ordered.subspan(i * per_slice, per_slice), scheme);
    affines.scales[i] = affine.scale;
    affines.zero_points[i] = affine.zero_point;
  });
  if (scheme.symmetry == Symmetry::kSymmetric) affines.zero_points.clear();
  affines.scales = fit_scales(std::move(affines.scales), bias, input_scale,
                              weights.elements() / std::max<std::int64_t>(walk.channels, 1),
                              largest_magnitude(scheme));
  return affines;
}

Tensor quantize_weights(const Tensor& weights, const Scheme& scheme, const Affines& affines) {
  const ChannelWalk walk(weights.shape(), affines.per_tensor() ? 0 : affines.axis);
  const std::vector<float>& scales = affines.scales;
  const std::vector<std::int32_t>& zero_points = affines.zero_points;
  if (scales.size() != 1 && static_cast<std::int64_t>(scales.size()) != walk.channels) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("weight scales: found ", scales.size(), ", expected 1 or ", walk.channels));
  }
  if (!zero_points.empty() && zero_points.size() != scales.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("weight zero points: found ", zero_points.size(), ", expected none or ",
                        scales.size()));
  }
  const Limits limits = limits_of(scheme);
  Tensor quantized(DType::kInt8, weights.shape());
  const auto from = weights.values<float>();
  const auto to = quantized.values<std::int8_t>();
  walk.each([&](std::size_t channel, std::size_t i) {
    to[i] = static_cast<std::int8_t>(quantize_value(from[i], affines.at(channel), limits));
  });
  return quantized;
}

Tensor dequantize_weights(const Tensor& integers, const Affines& affines) {
  const ChannelWalk walk(integers.shape(), affines.per_tensor() ? 0 : affines.axis);
  Tensor reals(DType::kFloat32, integers.shape());
  const auto from = integers.values<std::int8_t>();
  const auto to = reals.values<float>();
  walk.each([&](std::size_t channel, std::size_t i) {
    to[i] = dequantize_value(from[i], affines.at(channel));
  });
  return reals;
}

std::vector<float> bias_scales(std::span<const float> weight_scales, std::size_t channels,
                               float input_scale) {
  std::vector<float> scales(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scales[c] = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : c];
  }
  return scales;
}

Tensor quantize_bias(std::span<const float> bias, std::span<const float> scales) {
  Tensor quantized(DType::kInt32, Shape{static_cast<std::int64_t>(bias.size())});
  const auto to = quantized.values<std::int32_t>();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double exact = std::nearbyint(static_cast<double>(bias[c]) / scales[c]);
    to[c] = static_cast<std::int32_t>(std::clamp(exact, -kBiasLimit, kBiasLimit));
  }
  return quantized;
}

}  // namespace qtool
