#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "calib/statistics.h"
#include "graph/node_name.h"
#include "qtool/quantize/calibrate.h"
#include "quantize/groundwork.h"
#include "quantize/weights.h"

namespace qtool {
namespace {

struct MeasuredLayer {
  NodeId id = kNoNode;
  std::string name;
  std::int64_t depth = 0;     ///< such layers on the longest path from an input to it, it included
  std::vector<double> means;  ///< FP32, per output channel
};

/// The layers whose bias can be corrected, in the graph's order.
std::vector<MeasuredLayer> layers_of(const Graph& graph, const QuantizeReport& report) {
  std::vector<MeasuredLayer> layers;
  std::vector<std::int64_t> depth(graph.value_limit(), 0);
  std::unordered_map<std::string_view, const NodeReport*> reports;
  for (const NodeReport& node : report.nodes) reports.emplace(node.node, &node);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::int64_t deepest = 0;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) deepest = std::max(deepest, depth[static_cast<std::size_t>(input)]);
    }
    const auto placed = reports.find(name_of(graph, id));
    const bool corrected = placed != reports.end() && placed->second->role == NodeRole::kInteger &&
                           !node.is("MatMul") && weight_ports(graph, id).has_value();
    if (corrected) layers.push_back({id, placed->second->node, ++deepest, {}});
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) depth[static_cast<std::size_t>(output)] = deepest;
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

std::vector<double> means_of(const Statistics& statistics) {
  std::vector<double> means;
  for (std::int64_t channel = 0; channel < statistics.channels(); ++channel) {
    means.push_back(statistics.channel_mean(channel));
  }
  return means;
}

/// Several passes over the images, whose progress is reported as one count.
class Passes {
 public:
  Passes(const ImageSet& images, const CollectOptions& collect, std::int64_t passes)
      : images_(images), collect_(collect) {
    const auto each = static_cast<std::int64_t>(images.entries.size());
    total_ = each * passes;
    if (!collect.progress) return;
    collect_.progress = [this, report = collect.progress, each](std::int64_t done, std::int64_t) {
      return report(pass_ * each + done, total_);
    };
  }
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  /// Runs all images. The means of the results of `layers`, by output channel; all layers must
  /// exist in the executor's graph.
  std::vector<std::vector<double>> means(const Executor& executor,
                                         std::span<const MeasuredLayer* const> layers) {
    const Graph& graph = executor.graph();
    collect_.tensors.clear();
    for (const MeasuredLayer* layer : layers)
      collect_.tensors.push_back(result_name(graph, *layer));
    const Collection collection = qtool::collect(executor, images_, collect_);
    ++pass_;
    std::unordered_map<std::string_view, const Statistics*> statistics;
    for (const TensorStatistics& tensor : collection.tensors) {
      statistics.emplace(tensor.tensor, &tensor.statistics);
    }
    std::vector<std::vector<double>> means;
    for (const std::string& name : collect_.tensors)
      means.push_back(means_of(*statistics.at(name)));
    return means;
  }

  static const std::string& result_name(const Graph& graph, const MeasuredLayer& layer) {
    return graph.value(graph.node(layer.id).outputs[0]).name;
  }

 private:
  const ImageSet& images_;
  CollectOptions collect_;
  std::int64_t total_ = 0;
  std::int64_t pass_ = 0;
};

}  // namespace

BiasShifts sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                  const StaticOptions& options, const ImageSet& images,
                                  const CollectOptions& collect) {
  StaticOptions corrected = options;
  corrected.bias_correction = BiasCorrection::kSequential;
  corrected.bias_shifts.clear();
  std::vector<MeasuredLayer> layers =
      layers_of(fp32.graph(), quantize(fp32.graph(), table, corrected).report);
  if (layers.empty()) return {};
  std::int64_t deepest = 0;
  std::vector<const MeasuredLayer*> all;
  for (const MeasuredLayer& layer : layers) {
    deepest = std::max(deepest, layer.depth);
    all.push_back(&layer);
  }

  // Rewrites change what layers compute, and so what their means are to be.
  const Groundwork ground = lay_groundwork(fp32.graph(), table, options);
  std::optional<Executor> rewritten;
  if (!ground.rewrites().names.empty()) rewritten.emplace(ground.graph());
  Passes passes(images, collect, deepest + 1);
  std::vector<std::vector<double>> fp32_means = passes.means(rewritten ? *rewritten : fp32, all);
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].means = std::move(fp32_means[i]);
  for (std::int64_t depth = 1; depth <= deepest; ++depth) {
    std::vector<const MeasuredLayer*> now;
    for (const MeasuredLayer& layer : layers) {
      if (layer.depth == depth) now.push_back(&layer);
    }
    // quantize() keeps the ids of nodes: a layer has the same id in both graphs.
    Graph int8 = quantize(fp32.graph(), table, corrected).graph;
    std::vector<ValueId> results;
    for (const MeasuredLayer* layer : now) results.push_back(int8.node(layer->id).outputs[0]);
    cut_at(int8, results);
    const Executor executor(std::move(int8));
    const std::vector<std::vector<double>> int8_means = passes.means(executor, now);
    for (std::size_t i = 0; i < now.size(); ++i) {
      std::vector<double> shift = int8_means[i];
      for (std::size_t c = 0; c < shift.size(); ++c) shift[c] -= now[i]->means[c];
      corrected.bias_shifts.emplace(now[i]->name, std::move(shift));
    }
  }
  return std::move(corrected.bias_shifts);
}

}  // namespace qtool
