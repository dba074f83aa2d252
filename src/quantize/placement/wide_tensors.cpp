#include "quantize/placement/wide_tensors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/name_pattern.h"
#include "base/text.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "quantize/placement/operands.h"

namespace qtool {
namespace {

void require_wide_activations(const Target& target) {
  if (!target.wide_activations) {
    throw Error(ErrorCode::kUsage, to_text("wide tensors: target '", target.name,
                                           "' has none, expected target qtool"));
  }
  if (target.activations.bits != 8) {
    throw Error(ErrorCode::kUsage, to_text("wide tensors: found activations of ",
                                           target.activations.bits, " bits, expected 8"));
  }
}

class WidePlacement {
 public:
  WidePlacement(const Graph& graph, const ActivationAffines& activations, Placement& placement)
      : graph_(graph), activations_(activations), placement_(placement) {
    for (NodePlacement& placed : placement.nodes) rows_.emplace(placed.id, &placed);
  }

  void add(ValueId tensor) {
    WideTensor wide;
    wide.tensor = tensor;
    std::vector<NodeId> movers = movers_of(tensor);
    if (activations_.by_value[tensor] && !takes_over_bytes(tensor, movers)) {
      wide.functions = take_functions(tensor);
      wide.layers = layers_of(tensor);
    }
    if (wide.functions.empty() && wide.layers.empty()) {
      placement_.not_wide.push_back(tensor);
    } else {
      if (!wide.layers.empty()) wide.movers = std::move(movers);
      run_in_fp32(wide.movers);
      placement_.wide.push_back(std::move(wide));
    }
  }

 private:
  /// The nodes that make the tensor by only moving elements, the last one first.
  [[nodiscard]] std::vector<NodeId> movers_of(ValueId tensor) const {
    std::vector<NodeId> movers;
    NodeId producer = graph_.value(tensor).producer;
    while (producer != kNoNode && only_moves(graph_.node(producer))) {
      movers.push_back(producer);
      producer = graph_.value(graph_.node(producer).inputs[0]).producer;
    }
    return movers;
  }

  /// Whether every element of the tensor, which `movers` make, is an element of a tensor of 8 bits
  /// with the same map. The second byte would always stand for 0. Movers read reals, but a Concat
  /// reads bytes.
  [[nodiscard]] bool takes_over_bytes(ValueId tensor, const std::vector<NodeId>& movers) const {
    const ValueId moved = movers.empty() ? tensor : graph_.node(movers.back()).inputs[0];
    const NodeId producer = graph_.value(moved).producer;
    if (producer == kNoNode || !graph_.node(producer).is("Concat")) return false;
    if (rows_.at(producer)->role == NodeRole::kFloat) return false;
    return std::ranges::all_of(graph_.node(producer).inputs, [&](ValueId id) {
      return activations_.by_value[id] == activations_.by_value[tensor];
    });
  }

  void run_in_fp32(std::span<const NodeId> movers) {
    for (const NodeId mover : movers) {
      NodePlacement& placed = *rows_.at(mover);
      if (placed.role != NodeRole::kPassing) continue;
      placed.role = NodeRole::kFloat;
      placed.reason = "its result keeps 16 bits";
    }
  }

  /// The layers that read both bytes. None if the step of the second byte is too small for a float.
  [[nodiscard]] std::vector<NodeId> layers_of(ValueId tensor) const {
    const float scale = activations_.by_value[tensor].value().scale;
    std::vector<NodeId> layers;
    if (!std::isnormal(scale / kWideSteps)) return layers;
    for (const NodeId reader : graph_.consumers(tensor)) {
      if (rows_.at(reader)->role == NodeRole::kInteger && weight_ports(graph_, reader) &&
          graph_.node(reader).inputs[0] == tensor) {
        layers.push_back(reader);
      }
    }
    std::ranges::sort(layers);
    return layers;
  }

  /// Takes out the functions that read the tensor.
  std::vector<ElementFunction> take_functions(ValueId tensor) {
    // The name of the tensor would give each node a line of its own in the report.
    constexpr std::string_view kReason = "its input keeps 16 bits";
    std::vector<ElementFunction> taken;
    std::vector<ElementFunction>& functions = placement_.functions;
    const auto others = std::stable_partition(
        functions.begin(), functions.end(),
        [&](const ElementFunction& function) { return function.input != tensor; });
    std::move(others, functions.end(), std::back_inserter(taken));
    functions.erase(others, functions.end());
    for (const ElementFunction& function : taken) {
      for (const NodeId id : function.nodes) {
        rows_.at(id)->role = NodeRole::kFloat;
        rows_.at(id)->reason = kReason;
      }
    }
    return taken;
  }

  const Graph& graph_;
  const ActivationAffines& activations_;
  Placement& placement_;
  std::unordered_map<NodeId, NodePlacement*> rows_;
};

}  // namespace

void place_wide_tensors(const Graph& graph, const Target& target,
                        const ActivationAffines& activations, std::span<const std::string> names,
                        Placement& placement) {
  if (names.empty()) return;
  require_wide_activations(target);
  std::vector<ValueId> values;
  std::vector<std::string> known;
  const auto add = [&](ValueId id) {
    if (id == kNoValue) return;
    values.push_back(id);
    known.push_back(graph.value(id).name);
  };
  for (const ValueId id : graph.inputs()) add(id);
  for (const NodeId id : graph.nodes()) {
    for (const ValueId output : graph.node(id).outputs) add(output);
  }
  WidePlacement wide(graph, activations, placement);
  for (const std::size_t i : match_names(known, names, "tensor")) wide.add(values[i]);
}

}  // namespace qtool
