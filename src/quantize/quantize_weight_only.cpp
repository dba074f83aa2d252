// Weights stored as integers, arithmetic in FP32.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/weight_ports.h"
#include "quantize/without_table.h"

namespace qtool {
namespace {

/// Why the weights of a node stay as they are, as a phrase; empty when they can be int8.
std::string refuse_weights(const Graph& graph, NodeId id) {
  const std::vector<WeightPorts> all = stored_weight_ports(graph, id);
  if (all.empty()) return "it has no constant weights of float32";
  for (const WeightPorts& ports : all) {
    const Value& value = graph.value(ports.weight);
    const Tensor& weights = *value.constant;
    if (weights.dtype() != DType::kFloat32 || weights.elements() == 0) {
      return "it has no constant weights of float32";
    }
    if (!all_finite(weights.values<float>())) {
      return to_text("its weight '", value.name, "' has NaN or infinite values");
    }
    if (weights.bytes() < weights.elements() + 4 * ports.channels) {
      return "int8 and scales would take more bytes than in FP32";
    }
  }
  return {};
}

/// Returns the nodes whose weights are stored as int8. Writes into `placement` the reason why each
/// node computes in FP32.
std::vector<NodeId> choose_weights(const Graph& graph, std::span<const std::string> exclude,
                                   Placement& placement) {
  const std::vector<NodeId> excluded = match_nodes(graph, exclude);
  std::vector<NodeId> chosen;
  for (NodePlacement& placed : placement.nodes) {
    if (placed.role == NodeRole::kNotReal) continue;
    placed.role = NodeRole::kFloat;
    if (std::find(excluded.begin(), excluded.end(), placed.id) != excluded.end()) {
      placed.reason = "excluded by --exclude";
      continue;
    }
    placed.reason = refuse_weights(graph, placed.id);
    if (!placed.reason.empty()) continue;
    placed.reason = "weights stored as int8, computed in FP32";
    chosen.push_back(placed.id);
  }
  return chosen;
}

}  // namespace

Quantized quantize(const Graph& prepared, const WeightOnlyOptions& options,
                   const CalibrationTable* means) {
  return quantize_without_table(
      prepared, QuantizeMode::kWeightOnly, options, options.weights, means,
      [&](Placement& placement, const LayerStages& stages, QuantizeReport& report) {
        const std::vector<NodeId> chosen = choose_weights(prepared, options.exclude, placement);
        return emit_weight_only(prepared, chosen, stages, report);
      });
}

}  // namespace qtool
