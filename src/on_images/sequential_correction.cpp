#include "on_images/sequential_correction.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "graph/id_map.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "on_images/masked_shift.h"
#include "quantize/groundwork.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

struct MeasuredLayer {
  NodeId id = kNoNode;
  std::string name;
  /// The number of measured layers on the longest path from an input to this layer, including it.
  std::int64_t depth = 0;
};

/// The layers whose bias can be corrected, in the graph's order.
std::vector<MeasuredLayer> layers_of(const Graph& graph, const QuantizeReport& report) {
  std::vector<MeasuredLayer> layers;
  IdMap<ValueId, std::int64_t> depth(graph.value_limit(), 0);
  std::unordered_map<std::string_view, const NodeReport*> reports;
  for (const NodeReport& node : report.nodes) reports.emplace(node.node, &node);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::int64_t deepest = 0;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) deepest = std::max(deepest, depth[input]);
    }
    const auto placed = reports.find(name_of(graph, id));
    const bool corrected = placed != reports.end() && placed->second->role == NodeRole::kInteger &&
                           has_bias_input(traits_of(node)) && weight_ports(graph, id).has_value();
    if (corrected) layers.push_back({id, placed->second->node, ++deepest});
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) depth[output] = deepest;
    }
  }
  return layers;
}

/// Makes `results` the only outputs of the graph and removes the nodes that they do not need.
void cut_at(Graph& graph, std::span<const ValueId> results) {
  const auto wanted = [&](ValueId id) {
    return std::find(results.begin(), results.end(), id) != results.end();
  };
  for (const ValueId output : std::vector<ValueId>(graph.outputs())) {
    if (!wanted(output)) graph.replace_output(output, results.front());
  }
  for (const ValueId result : results) {
    if (!graph.is_output(result)) graph.add_output(result);
  }
  graph.remove_dead_nodes();
}

/// The results of a layer in both graphs, before the activation.
ComparedLayer compared(const Graph& fp32, const Graph& int8, NodeId id) {
  const PassedInterval passed = passed_interval(fp32, id);
  // quantize() keeps the ids of nodes: a layer has the same id in both graphs.
  return {fp32.value(fp32.node(id).outputs[0]).name, int8.value(int8.node(id).outputs[0]).name,
          passed.above, passed.below};
}

/// The part of the graph that computes the results of `layers`.
Graph until(Graph graph, std::span<const NodeId> layers) {
  std::vector<ValueId> results;
  for (const NodeId layer : layers) results.push_back(graph.node(layer).outputs[0]);
  cut_at(graph, results);
  return graph;
}

}  // namespace

ShiftsOnImages sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                      const StaticOptions& options, const Learned& learned,
                                      const Samples& samples, const CollectOptions& collect) {
  StaticOptions corrected = options;
  corrected.bias_correction = BiasCorrection::kSequential;
  corrected.form = ModelForm::kQdq;  // the results of layers are compared as reals
  Learned known = learned;
  known.bias_shifts.clear();
  // The model is quantized again for each depth. The search for the scales of the weights takes
  // longest by far. The scales do not depend on the biases, so they are searched only once.
  CalibrationTable scaled = table;
  fill_weight_entries(fp32.graph(), options, scaled, learned);
  const auto quantized = [&] { return quantize(fp32.graph(), scaled, corrected, known); };
  const std::vector<MeasuredLayer> layers = layers_of(fp32.graph(), quantized().report);
  std::int64_t deepest = 0;
  for (const MeasuredLayer& layer : layers) deepest = std::max(deepest, layer.depth);

  // Rewrites change the results of layers, so the reference must be the rewritten graph.
  const Groundwork ground = lay_groundwork(fp32.graph(), table, options, learned);
  const bool is_rewritten = !ground.rewrites().names.empty();
  const Graph& real = is_rewritten ? ground.graph() : fp32.graph();
  const std::int64_t total = samples.size() * deepest;
  std::int64_t done = 0;
  std::vector<BadImage> bad;
  for (std::int64_t depth = 1; depth <= deepest; ++depth) {
    std::vector<NodeId> now;
    std::vector<std::string> names;
    for (const MeasuredLayer& layer : layers) {
      if (layer.depth != depth) continue;
      now.push_back(layer.id);
      names.push_back(layer.name);
    }
    const Executor int8(until(quantized().graph, now));
    const Executor exact(until(real, now));
    std::vector<ComparedLayer> pairs;
    for (const NodeId id : now) pairs.push_back(compared(real, int8.graph(), id));
    MaskedShifts shifts = masked_shifts(exact, int8, pairs, samples, collect, [&] {
      report_progress(collect.progress, ++done, total, "bias correction",
                      to_text(samples.noun(), "s"));
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
      known.bias_shifts.emplace(names[i], std::move(shifts.by_layer[i]));
    }
    bad = std::move(shifts.bad);  // every run finds the same bad images
  }
  return {std::move(known.bias_shifts), std::move(bad)};
}

}  // namespace qtool
