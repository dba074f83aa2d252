// Parts that all modes share. Each mode has a file of its own, quantize_<mode>.cpp.
#include "qtool/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"
#include "quantize/placement/operands.h"

namespace qtool {
namespace {

constexpr std::array<std::pair<QuantizeMode, std::string_view>, 3> kModes = {
    {{QuantizeMode::kStatic, "static"},
     {QuantizeMode::kDynamic, "dynamic"},
     {QuantizeMode::kWeightOnly, "weight-only"}}};

}  // namespace

// The domain is not checked, because other tools use these names in domains of their own.
std::optional<NodeId> quantized_node(const Graph& graph) {
  constexpr std::array<std::string_view, 4> kNames = {"QuantizeLinear", "DequantizeLinear",
                                                      "ConvInteger", "MatMulInteger"};
  const auto is_quantized = [&](NodeId id) {
    const std::string& op = graph.node(id).op_type;
    return std::find(kNames.begin(), kNames.end(), op) != kNames.end() ||
           op.starts_with("QLinear") || op.starts_with("DynamicQuantize");
  };
  const auto& nodes = graph.nodes();
  const auto found = std::find_if(nodes.begin(), nodes.end(), is_quantized);
  return found == nodes.end() ? std::nullopt : std::optional(*found);
}

bool has_fixed_scales(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const std::string& op = graph.node(id).op_type;
    return op == "QuantizeLinear" || op.starts_with("QLinear");
  });
}

std::string_view name_of(QuantizeMode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)].second;
}

std::optional<QuantizeMode> find_quantize_mode(std::string_view name) noexcept {
  for (const auto& [mode, known] : kModes) {
    if (known == name) return mode;
  }
  return std::nullopt;
}

const NodeReport* QuantizeReport::find(std::string_view node) const& noexcept {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeReport& report) { return report.node == node; });
  return found == nodes.end() ? nullptr : &*found;
}

Target chosen_target(const CalibrationTable& table, std::string_view name,
                     const TypeChoices& types) {
  return with_choices(with_choices(find_target(name), table.types), types);
}

Target chosen_target(const CalibrationTable& table, const StaticOptions& options) {
  return chosen_target(table, options.target, options.types);
}

Target chosen_target(std::string_view name, const WeightChoices& weights) {
  TypeChoices types;
  types.weight_bits = weights.bits;
  types.weight_method = weights.method;
  types.weight_pairs = weights.pairs;
  return with_choices(find_target(name), types);
}

}  // namespace qtool
