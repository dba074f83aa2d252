#include "on_images/sequential_correction.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "on_images/masked_shift.h"
#include "on_images/network_by_depth.h"
#include "qtool/base/error.h"
#include "quantize/placement/placement.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/static_models.h"
#include "quantize/weights/weight_ports.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

/// The most bytes of tensors that are kept between two depths, see NetworkByDepth. Reals take four
/// times the bytes of integers.
constexpr std::int64_t kMostKeptReals = std::int64_t{192} << 20;
constexpr std::int64_t kMostKeptIntegers = std::int64_t{48} << 20;

struct MeasuredLayer {
  NodeId id = kNoNode;
  std::string name;
  std::int64_t depth = 0;  ///< of its results, see depths_of()
};

std::vector<NodeId> ids_of(std::span<const MeasuredLayer> layers) {
  std::vector<NodeId> ids;
  for (const MeasuredLayer& layer : layers) ids.push_back(layer.id);
  return ids;
}

/// The layers whose bias can be corrected, in the graph's order.
std::vector<MeasuredLayer> layers_of(const Graph& graph, const Placement& placement) {
  std::vector<MeasuredLayer> layers;
  for (const NodePlacement& placed : placement.nodes) {
    if (placed.role != NodeRole::kInteger || !has_bias_input(traits_of(graph.node(placed.id)))) {
      continue;
    }
    if (!weight_ports(graph, placed.id)) continue;
    layers.push_back({placed.id, std::string(name_of(graph, placed.id))});
  }
  const IdMap<ValueId, std::int64_t> depths = depths_of(graph, ids_of(layers));
  for (MeasuredLayer& layer : layers) layer.depth = depths[graph.node(layer.id).outputs[0]];
  return layers;
}

/// The results of a layer in both graphs, before the activation.
ComparedLayer compared(const Graph& fp32, const Graph& int8, NodeId id) {
  const PassedInterval passed = passed_interval(fp32, id);
  // quantize() keeps the ids of nodes: a layer has the same id in both graphs.
  return {fp32.value(fp32.node(id).outputs[0]).name, int8.value(int8.node(id).outputs[0]).name,
          passed.above, passed.below};
}

/// The first sample that can be used.
std::vector<Tensor> first_to_correct(const Samples& samples, const CollectOptions& collect) {
  std::vector<BadImage> bad;
  auto sample = first_usable(samples, collect.preprocess, collect.bad_images, bad);
  if (sample) return *std::move(sample);
  throw Error(ErrorCode::kInvalidImage, to_text("bias correction: none of ", samples.size(), " ",
                                                samples.noun(), "s is usable"));
}

}  // namespace

ShiftsOnImages sequential_bias_shifts(const Executor& fp32, const CalibrationTable& table,
                                      const StaticOptions& options, const Learned& learned,
                                      const Samples& samples, const CollectOptions& collect) {
  StaticOptions corrected = options;
  corrected.bias_correction = BiasCorrection::kSequential;
  corrected.form = ModelForm::kQdq;  // the results of layers are compared as reals
  StaticModels models(fp32.graph(), table, corrected, learned, StaticModels::Keep::kLayers);
  // Rewrites change the results of layers, so the reference must be the rewritten graph.
  const bool is_rewritten = !models.ground().rewrites().names.empty();
  const Graph& real = is_rewritten ? models.ground().graph() : fp32.graph();
  const std::vector<MeasuredLayer> layers = layers_of(real, models.ground().placement());
  std::int64_t deepest = 0;
  for (const MeasuredLayer& layer : layers) deepest = std::max(deepest, layer.depth);
  if (deepest == 0) return {};
  require_inputs_for(samples, real);
  const InputShapes shapes = shapes_for(samples, real, first_to_correct(samples, collect));
  const std::int64_t total = samples.size() * deepest;
  std::int64_t done = 0;
  BiasShifts shifts;
  std::vector<BadImage> bad;
  NetworkByDepth exact(samples.size(), shapes, kMostKeptReals);
  NetworkByDepth int8(samples.size(), shapes, kMostKeptIntegers);
  Graph graph = models.with(shifts).graph;
  for (std::int64_t depth = 1; depth <= deepest; ++depth) {
    std::vector<std::string> names;
    std::vector<ComparedLayer> pairs;
    for (const MeasuredLayer& layer : layers) {
      if (layer.depth != depth) continue;
      names.push_back(layer.name);
      pairs.push_back(compared(real, graph, layer.id));
    }
    const auto target_of = [&](const Graph& network, std::string ComparedLayer::*tensor) {
      NetworkByDepth::Target target{network, ids_of(layers), depth, {}};
      for (const ComparedLayer& pair : pairs) target.results.push_back(pair.*tensor);
      return target;
    };
    // Both networks are compiled at the same time, because each takes one thread.
    parallel_items(2, resolve_threads(collect.threads), [&](std::int64_t network, int) {
      if (network == 0) return exact.go_to(target_of(real, &ComparedLayer::fp32));
      if (depth > 1) graph = models.with(shifts).graph;  // the names of its tensors stay
      int8.go_to(target_of(graph, &ComparedLayer::int8));
    });
    MaskedShifts measured = masked_shifts(real, exact, int8, pairs, samples, collect, [&] {
      report_progress(collect.progress, ++done, total, "bias correction",
                      to_text(samples.noun(), "s"));
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
      shifts.emplace(names[i], std::move(measured.by_layer[i]));
    }
    bad = std::move(measured.bad);  // every run finds the same bad images
  }
  return {std::move(shifts), std::move(bad)};
}

}  // namespace qtool
