#include "quantize/without_table.h"

#include <string>

#include "graph/node_name.h"
#include "quantize/operands.h"
#include "quantize/provenance.h"
#include "quantize/rounding.h"

namespace qtool {
namespace {

/// The placement with all nodes but the products that can run on integers set to FP32.
Placement place_products(const Graph& graph, const Target& target,
                         std::span<const std::string> exclude) {
  PlacementOptions placement_options;
  placement_options.exclude.assign(exclude.begin(), exclude.end());
  Placement placement = place(graph, target, placement_options);
  for (NodePlacement& placed : placement.nodes) {
    if (placed.role == NodeRole::kNotReal || placed.role == NodeRole::kFloat) continue;
    const auto ports =
        placed.role == NodeRole::kInteger ? weight_ports(graph, placed.id) : std::nullopt;
    const Node& node = graph.node(placed.id);
    const bool image = ports && graph.value(ports->weight).constant->shape().rank() == 4;
    const bool transposed = node.is("ConvTranspose");
    if (ports && !transposed && (image || !node.is("Conv"))) continue;
    placed.role = NodeRole::kFloat;
    placed.reason = transposed ? "ONNX has no integer form of it"
                    : ports    ? "ConvInteger takes images only"
                               : "it multiplies two activations";
  }
  return placement;
}

StagedLayer stage_weights(const Graph& graph, const Target& target, NodeId node,
                          const WeightPorts& ports, const RoundingInfo& rounding,
                          const QuantizeOptions& options, QuantizeReport& report) {
  Scheme scheme = weight_scheme(graph, node, target);
  scheme.symmetry = Symmetry::kSymmetric;
  StagedLayer staged{begin_layer(graph, node, ports, scheme), false};
  choose_scales(staged.layer, target.weight_method, Granularity::kPerChannel, std::nullopt,
                options.threads);
  round_weights(graph, rounding, options.rounded, staged.layer, report);
  return staged;
}

}  // namespace

Quantized quantize_without_table(const Graph& prepared, QuantizeMode mode,
                                 const QuantizeOptions& options, const WeightChoices& weights,
                                 const EmitWithoutTable& emit) {
  const Target target = chosen_target(options.target, weights);
  const RoundingInfo& rounding = rounding_of(options);
  require_float_graph(prepared);
  Quantized quantized;
  QuantizeReport& report = quantized.report;
  report.target = options.target;
  report.non_finite = non_finite_weights(prepared);
  Placement placement = place_products(prepared, target, options.exclude);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    return stage_weights(prepared, target, node, ports, rounding, options, report);
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
