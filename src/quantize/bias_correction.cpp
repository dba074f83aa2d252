#include "quantize/bias_correction.h"

#include <algorithm>
#include <span>

#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "quantize/operands.h"
#include "quantize/weight_layout.h"

namespace qtool {

bool has_means(const Graph& graph, const Layer& layer) {
  const std::int64_t inputs = layer.layout.total_inputs;
  const std::int64_t count = std::ssize(layer.input.channel_means);
  if (count == 0 || inputs == 0 || inputs % count != 0) return false;
  return inputs == count || traits_of(graph.node(layer.node)).kind != OpKind::kConvolution;
}

std::vector<double> weight_bias_shift(const Graph& graph, const Layer& layer) {
  if (!has_means(graph, layer)) return {};
  const WeightPorts& ports = layer.ports;
  const std::span<const float> means = layer.input.channel_means;
  const WeightLayout& layout = layer.layout;
  const std::int64_t repeat = layout.total_inputs / std::ssize(means);
  const auto w = layer.weights.values<float>();
  const auto q = layer.integers.values<std::int8_t>();
  std::vector<double> shift(static_cast<std::size_t>(ports.channels), 0.0);
  for (std::int64_t c = 0; c < ports.channels; ++c) {
    const Affine affine = layer.affines.at(static_cast<std::size_t>(c));
    const double scale = affine.scale;
    double sum = 0.0;
    for (std::int64_t i = 0; i < layout.inputs; ++i) {
      const std::int64_t begin = layout.first(c, i);
      double change = 0.0;
      for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
        const auto at = static_cast<std::size_t>(begin + tap);
        change += scale * (q[at] - affine.zero_point) - static_cast<double>(w[at]);
      }
      sum += change * means[static_cast<std::size_t>(layout.input_channel(c, i) / repeat)];
    }
    shift[static_cast<std::size_t>(c)] = sum / layout.shared_by;
  }
  return shift;
}

bool takes_bias(const Node& node, const WeightPorts& ports, const Target& target) {
  return node.op_type != "MatMul" &&
         (ports.bias != kNoValue || has_room_for_bias(node, ports, target));
}

bool correct_bias(const Graph& graph, const Target& target, const BiasShift& shift, Layer& layer,
                  QuantizeReport& report) {
  if (!shift) return false;
  const bool has_port = takes_bias(graph.node(layer.node), layer.ports, target);
  const std::vector<double> shifts = has_port ? shift(layer) : std::vector<double>();
  if (shifts.empty()) {
    report.uncorrected_layers.emplace_back(name_of(graph, layer.node));
    return false;
  }
  for (std::size_t c = 0; c < shifts.size(); ++c) {
    layer.bias[c] = static_cast<float>(layer.bias[c] - shifts[c]);
  }
  ++report.corrected_biases;
  return true;
}

}  // namespace qtool
