#include "quantize/bias_correction.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/round_up.h"
#include "graph/channel_axis.h"
#include "graph/node_name.h"
#include "lower/specialize.h"
#include "qtool/base/error.h"
#include "qtool/quantize/coverage.h"
#include "quantize/added_bias.h"
#include "quantize/placement/node_refusals.h"
#include "quantize/weights/weight_layout.h"

namespace qtool {

namespace {

/// The shifts for W of a recurrent layer, [directions, rows, inputs]: one for each row of each
/// direction.
std::vector<double> recurrent_shift(const Layer& layer) {
  const Shape& shape = layer.weights.shape();
  const std::span<const float> means = layer.input.channel_means;
  const auto w = layer.weights.values<float>();
  const auto q = layer.integers.values<std::int8_t>();
  std::vector<double> shift;
  for (std::size_t at = 0; at < w.size();) {
    const Affine affine = layer.affines.at(shift.size() % static_cast<std::size_t>(shape[1]));
    double sum = 0.0;
    for (const float mean : means) {
      const double real = static_cast<double>(affine.scale) * (q[at] - affine.zero_point);
      sum += (real - static_cast<double>(w[at++])) * static_cast<double>(mean);
    }
    shift.push_back(sum);
  }
  return shift;
}

}  // namespace

std::span<const float> means_for(const Graph& graph, NodeId layer, const TableView& table) {
  const Node& node = graph.node(layer);
  // The channels of a Gemm's input are its second axis, which is also the last one.
  const bool last = node.is("MatMul") || is_recurrent(graph, layer);
  const bool fits = node.is("Gemm") || last == channels_are_last(graph, node.inputs[0]);
  return fits ? table.channel_means(node.inputs[0]) : std::span<const float>();
}

bool has_means(const Graph& graph, const Layer& layer) {
  const std::int64_t count = std::ssize(layer.input.channel_means);
  if (is_recurrent(graph, layer.node)) {
    // R multiplies the results of the previous time step. Their means are not known.
    return layer.ports.input == 1 && count > 0 && count == layer.weights.shape()[2];
  }
  const std::int64_t inputs = layer.layout.total_inputs;
  if (count == 0 || inputs == 0 || inputs % count != 0) return false;
  return inputs == count || graph.node(layer.node).is("Gemm");
}

std::vector<double> weight_bias_shift(const Graph& graph, const Layer& layer,
                                      std::span<const double> shares) {
  if (!has_means(graph, layer)) return {};
  if (is_recurrent(graph, layer.node)) return recurrent_shift(layer);
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
        const double share = shares.empty() ? 1.0 : shares[static_cast<std::size_t>(tap)];
        change += share * (scale * (q[at] - affine.zero_point) - static_cast<double>(w[at]));
      }
      sum += change * means[static_cast<std::size_t>(layout.input_channel(c, i) / repeat)];
    }
    shift[static_cast<std::size_t>(c)] = sum / layout.shared_by;
  }
  return shift;
}

std::vector<double> tap_shares(const Graph& graph, NodeId id, const WeightPorts& ports,
                               const Shape& input) {
  const Node& node = graph.node(id);
  const Shape& weights = graph.value(ports.weight).constant->shape();
  if (!node.is("Conv") || node.get_string("auto_pad", "NOTSET") != "NOTSET" ||
      input.rank() != weights.rank()) {
    return {};
  }
  const auto axes = static_cast<std::size_t>(input.rank() - 2);
  const std::vector<std::int64_t> ones(axes, 1);
  const std::vector<std::int64_t> strides = node.get_ints("strides", ones);
  const std::vector<std::int64_t> dilations = node.get_ints("dilations", ones);
  const std::vector<std::int64_t> pads =
      node.get_ints("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes) return {};
  std::vector<double> shares{1.0};
  for (std::size_t a = 0; a < axes; ++a) {
    const auto axis = static_cast<std::int64_t>(a) + 2;
    const std::int64_t extent = input[axis];
    const std::int64_t kernel = weights[axis];
    const std::int64_t room = extent + pads[a] + pads[axes + a] - (kernel - 1) * dilations[a] - 1;
    if (room < 0 || strides[a] < 1) return {};
    const std::int64_t positions = room / strides[a] + 1;
    std::vector<double> finer;
    for (const double share : shares) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        // At position o the tap reads element o * stride - before.
        const std::int64_t before = pads[a] - tap * dilations[a];
        const std::int64_t first = before <= 0 ? 0 : ceil_div(before, strides[a]);
        const std::int64_t last = extent - 1 + before;
        const std::int64_t end = last < 0 ? 0 : std::min(positions, last / strides[a] + 1);
        const std::int64_t inside = std::max<std::int64_t>(0, end - first);
        finer.push_back(share * static_cast<double>(inside) / static_cast<double>(positions));
      }
    }
    shares = std::move(finer);
  }
  return shares;
}

BiasShift table_bias_shift(const Graph& graph, const CalibrationTable& table) {
  ValueInfos infos;
  try {
    infos = specialize(graph, typical_shapes(graph, table.preprocess.value_or(Preprocess()))).infos;
  } catch (const Error& error) {  // shapes that cannot be inferred: padding is ignored
    if (error.code() == ErrorCode::kCancelled) throw;
  }
  return [&graph, infos = std::move(infos)](const Layer& layer) {
    const ValueId input = graph.node(layer.node).inputs[0];
    std::vector<double> shares;
    if (infos.contains(input) && infos[input]) {
      shares = tap_shares(graph, layer.node, layer.ports, infos[input]->shape);
    }
    return weight_bias_shift(graph, layer, shares);
  };
}

bool is_bias_by_channel(const Graph& graph, const WeightPorts& ports) {
  if (ports.bias == kNoValue || !graph.is_constant(ports.bias)) return false;
  const Shape& shape = graph.value(ports.bias).constant->shape();
  return shape.elements() == 1 ||
         (shape.elements() == ports.channels && shape[shape.rank() - 1] == ports.channels);
}

bool takes_bias(const Graph& graph, NodeId id, const WeightPorts& ports, const Target& target) {
  const Node& node = graph.node(id);
  if (node.is("MatMul")) return added_bias(graph, id, ports).has_value();
  if (is_recurrent(graph, id)) {
    if (ports.input != 1 || !node.has_input(3)) return ports.input == 1;
    if (!graph.is_constant(node.inputs[3])) return false;
    // For each direction the biases of W, then the biases of R.
    const Shape& w = graph.value(ports.weight).constant->shape();
    return graph.value(node.inputs[3]).constant->shape() == Shape{w[0], 2 * w[1]};
  }
  if (node.is("ConvTranspose") && node.get_int("group", 1) != 1) return false;
  if (!node.has_input(2)) return has_room_for_bias(node, ports, target);
  return is_bias_by_channel(graph, ports);
}

bool correct_bias(const Graph& graph, const Target& target, const BiasShift& shift, Layer& layer,
                  QuantizeReport& report) {
  if (!shift) return false;
  const bool has_port = takes_bias(graph, layer.node, layer.ports, target);
  const std::vector<double> shifts = has_port ? shift(layer) : std::vector<double>();
  if (shifts.empty()) {
    // A recurrent layer comes here twice, with W and with R. It is listed once.
    if (layer.ports.input == 1) {
      report.uncorrected_layers.emplace_back(name_of(graph, layer.node));
    }
    return false;
  }
  layer.bias.resize(shifts.size());  // there may be two directions
  for (std::size_t c = 0; c < shifts.size(); ++c) {
    layer.bias[c] = static_cast<float>(layer.bias[c] - shifts[c]);
  }
  ++report.corrected_biases;
  return true;
}

}  // namespace qtool
