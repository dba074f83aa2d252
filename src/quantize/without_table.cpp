#include "quantize/without_table.h"

#include <cstdint>
#include <optional>
#include <string>

#include "base/stop.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "quantize/bias_correction.h"
#include "quantize/emission/provenance.h"
#include "quantize/placement/operands.h"
#include "quantize/rounding/rounding.h"
#include "quantize/table_view.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {
namespace {

/// The placement in which only products run on integers. All other nodes are set to FP32.
Placement place_products(const Graph& graph, const Target& target,
                         std::span<const std::string> exclude) {
  PlacementOptions placement_options;
  placement_options.exclude.assign(exclude.begin(), exclude.end());
  Placement placement = place(graph, target, placement_options);
  for (NodePlacement& placed : placement.nodes) {
    if (placed.role == NodeRole::kNotReal || placed.role == NodeRole::kFloat) continue;
    if (is_recurrent(graph, placed.id)) continue;
    const auto ports =
        placed.role == NodeRole::kInteger ? weight_ports(graph, placed.id) : std::nullopt;
    const Node& node = graph.node(placed.id);
    const bool volume = ports && graph.value(ports->weight).constant->shape().rank() == 5;
    const bool transposed = node.is("ConvTranspose");
    if (ports && !transposed && !volume) continue;
    placed.role = NodeRole::kFloat;
    placed.reason = transposed ? "ONNX has no integer form of it"
                    : ports    ? "ConvInteger takes no volumes"
                               : "it multiplies two activations";
  }
  return placement;
}

StagedLayer stage_weights(const Graph& graph, const Target& target, NodeId node,
                          const WeightPorts& ports, const RoundingInfo& rounding,
                          const QuantizeOptions& options, const TableView* means,
                          const BiasShift& shift, bool on_integers, QuantizeReport& report) {
  Scheme scheme = weight_scheme(graph, node, target);
  scheme.symmetry = Symmetry::kSymmetric;
  LayerInput input;
  if (means != nullptr) input.channel_means = means_for(graph, node, *means);
  StagedLayer staged{begin_layer(graph, node, ports, scheme, input), false};
  // ONNX Runtime multiplies the signed weights of a ConvInteger in another way.
  const bool adds_pairs = on_integers && traits_of(graph.node(node)).kind == OpKind::kMatrixProduct;
  if (adds_pairs && target.weight_pairs == WeightPairs::kLimited) {
    staged.layer.pair_limit = pair_limit_of(graph, node, staged.layer.layout, target);
  }
  choose_scales(staged.layer, target.weight_method, Granularity::kPerChannel, std::nullopt,
                options.threads);
  round_weights(staged.layer, rounding);
  if (adds_pairs) report.saturating_pairs += saturating_pairs(graph, target, staged.layer);
  staged.corrected = correct_bias(graph, target, shift, staged.layer, report);
  return staged;
}

}  // namespace

Quantized quantize_without_table(const Graph& prepared, QuantizeMode mode,
                                 const QuantizeOptions& options, const WeightChoices& weights,
                                 const CalibrationTable* means, const EmitWithoutTable& emit) {
  const StopScope scope(options.stop);
  const Target target = chosen_target(options.target, weights);
  Target with_real_biases = target;  // so that any layer can get a bias
  with_real_biases.constants = ConstantForm::kReals;
  const RoundingInfo& rounding = rounding_of(options, {});
  require_float_graph(prepared);
  Quantized quantized;
  QuantizeReport& report = quantized.report;
  report.target = options.target;
  report.non_finite = non_finite_weights(prepared);
  std::optional<TableView> view;
  BiasShift shift;
  if (means != nullptr) {
    require_same_model(prepared, *means, options);
    view.emplace(prepared, *means, target);
    shift = table_bias_shift(prepared, *means);
  }
  Placement placement = place_products(prepared, target, options.exclude);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    return stage_weights(prepared, with_real_biases, node, ports, rounding, options,
                         view ? &*view : nullptr, shift, mode == QuantizeMode::kDynamic, report);
  };
  quantized.graph = emit(placement, stages, report);
  std::erase_if(placement.nodes,
                [&](const NodePlacement& placed) { return !multiplies(prepared.node(placed.id)); });
  report.nodes = report_nodes(prepared, placement);
  quantized.graph.info.metadata[std::string(kModeKey)] = name_of(mode);
  add_provenance(prepared, options, {}, quantized.graph);
  return quantized;
}

}  // namespace qtool
