#include "quantize/weights/weight_ports.h"

#include <algorithm>
#include <string_view>

#include "graph/op_traits.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/operands.h"

namespace qtool {

std::optional<WeightPorts> weight_ports(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.has_input(1) || !graph.is_constant(node.inputs[1])) return std::nullopt;
  return weight_ports(node, graph.value(node.inputs[1]).constant->shape());
}

std::optional<WeightPorts> weight_ports(const Node& node, const Shape& shape) {
  const std::optional<std::int64_t> axis = weight_axis(node);
  if (!axis) return std::nullopt;
  const bool conv = traits_of(node).kind == OpKind::kConvolution;
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

}  // namespace qtool
