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

/// Whether a node adds products up: what the report of these modes is about. Everything else is
/// FP32 by the nature of the mode, which is not worth a line per node.
bool multiplies(const Node& node) {
  constexpr std::array<std::string_view, 6> kProducts = {"Conv", "Gemm", "MatMul",
                                                         "GRU",  "LSTM", "RNN"};
  return std::any_of(kProducts.begin(), kProducts.end(), [&](std::string_view product) {
    return node.op_type.find(product) != std::string::npos;
  });
}

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

bool has_usable_weights(const Graph& graph, NodeId id) {
  const auto ports = weight_ports(graph, id);
  if (!ports) return false;
  const Tensor& weights = *graph.value(ports->weight).constant;
  if (weights.dtype() != DType::kFloat32 || weights.elements() == 0) return false;
  return all_finite(weights.values<float>());
}

/// The nodes whose weights are stored as int8; `placement` says of each node why it is FP32.
std::vector<NodeId> choose_weights(const Graph& graph, const QuantizeOptions& options,
                                   Placement& placement) {
  const std::vector<NodeId> excluded = match_nodes(graph, options.exclude);
  std::vector<NodeId> chosen;
  for (NodePlacement& placed : placement.nodes) {
    if (placed.role == NodeRole::kNotReal) continue;
    placed.role = NodeRole::kFloat;
    placed.reason = "it has no constant weights of float32";
    if (std::find(excluded.begin(), excluded.end(), placed.id) != excluded.end()) {
      placed.reason = "excluded by --exclude";
    } else if (has_usable_weights(graph, placed.id)) {
      placed.reason = "weights stored as int8, computed in FP32";
      chosen.push_back(placed.id);
    }
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
  quantized.info.metadata["qtool.mode"] = name_of(options.mode);
  add_provenance(prepared, options, quantized);
  return quantized;
}

}  // namespace qtool
