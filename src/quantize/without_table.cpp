// The modes of quantize() that need no calibration table.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/base/text.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/weights.h"
#include "quantize/emit.h"
#include "quantize/operands.h"
#include "quantize/provenance.h"

namespace qtool {
namespace {

constexpr std::array<std::pair<QuantizeMode, std::string_view>, 3> kModes = {
    {{QuantizeMode::kStatic, "static"},
     {QuantizeMode::kDynamic, "dynamic"},
     {QuantizeMode::kWeightOnly, "weight-only"}}};

/// Where products run on integers; everything else is FP32 in these modes.
Placement place_products(const Graph& graph, const Target& target, const QuantizeOptions& options) {
  PlacementOptions placement_options;
  placement_options.exclude = options.exclude;
  Placement placement = place(graph, target, placement_options);
  for (NodePlacement& placed : placement.nodes) {
    if (placed.role == NodeRole::kNotReal || placed.role == NodeRole::kFloat) continue;
    const auto ports =
        placed.role == NodeRole::kInteger ? weight_ports(graph, placed.id) : std::nullopt;
    const bool image = ports && graph.value(ports->weight).constant->shape().rank() == 4;
    if (ports && (image || !graph.node(placed.id).is("Conv"))) continue;
    placed.role = NodeRole::kFloat;
    placed.reason = ports ? "ConvInteger takes images only" : "it multiplies two activations";
  }
  return placement;
}

/// Why the weights of a node stay as they are, as a phrase; empty when they can be int8.
std::string refuse_weights(const Graph& graph, NodeId id) {
  const auto ports = weight_ports(graph, id);
  if (!ports) return "it has no constant weights of float32";
  const Value& value = graph.value(ports->weight);
  const Tensor& weights = *value.constant;
  if (weights.dtype() != DType::kFloat32 || weights.elements() == 0) {
    return "it has no constant weights of float32";
  }
  if (!all_finite(weights.values<float>())) {
    return concat("its weight '", value.name, "' has NaN or infinite values");
  }
  if (weights.bytes() < weights.elements() + 4 * ports->channels) {
    return "int8 and scales would take more bytes than in FP32";
  }
  return {};
}

/// The nodes whose weights are stored as int8; `placement` says of each node why it is FP32.
std::vector<NodeId> choose_weights(const Graph& graph, const QuantizeOptions& options,
                                   Placement& placement) {
  const std::vector<NodeId> excluded = match_nodes(graph, options.exclude);
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

std::string_view name_of(QuantizeMode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)].second;
}

std::optional<QuantizeMode> find_quantize_mode(std::string_view name) noexcept {
  for (const auto& [mode, known] : kModes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

Graph quantize(const Graph& prepared, const QuantizeOptions& options, QuantizeReport& report) {
  if (options.mode == QuantizeMode::kStatic) {
    throw Error(ErrorCode::kUsage, "mode 'static' needs a calibration table");
  }
  const Target target = chosen_target(CalibrationTable(), options);
  require_float_graph(prepared);
  report = {};
  report.target = options.target;
  report.non_finite = non_finite_weights(prepared);
  Graph quantized;
  Placement placement = place_products(prepared, target, options);
  if (options.mode == QuantizeMode::kDynamic) {
    quantized = emit_dynamic(prepared, placement, target, report);
  } else {
    const std::vector<NodeId> chosen = choose_weights(prepared, options, placement);
    quantized = emit_weight_only(prepared, chosen, target, report);
  }
  for (const NodePlacement& placed : placement.nodes) {
    if (!multiplies(prepared.node(placed.id))) continue;
    report.nodes.push_back({std::string(name_of(prepared, placed.id)),
                            prepared.node(placed.id).op_type, placed.role, placed.reason});
  }
  quantized.info.metadata[std::string(kModeKey)] = name_of(options.mode);
  add_provenance(prepared, options, quantized);
  return quantized;
}

}  // namespace qtool
