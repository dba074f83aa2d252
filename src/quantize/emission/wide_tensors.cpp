#include "quantize/emission/wide_tensors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/choices.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "qtool/base/error.h"
#include "quantize/emission/emit.h"
#include "quantize/weights/weights.h"

namespace qtool {
namespace {

/// The result of the pair that reads `x`, or nothing if there is no pair.
std::optional<ValueId> behind_pair(const Graph& graph, ValueId x) {
  for (const NodeId reader : graph.consumers(x)) {
    const Node& quantize = graph.node(reader);
    if (!quantize.is("QuantizeLinear") || quantize.inputs[0] != x) continue;
    for (const NodeId behind : graph.consumers(quantize.outputs[0])) {
      if (graph.node(behind).is("DequantizeLinear")) return graph.node(behind).outputs[0];
    }
  }
  return std::nullopt;
}

class Widener {
 public:
  Widener(const Groundwork& ground, Graph& emitted, QuantizeReport& report)
      : ground_(ground), graph_(emitted), report_(report) {
    for (const NodePlacement& placed : ground.placement().nodes) {
      if (placed.role == NodeRole::kInteger && weight_ports(ground.graph(), placed.id)) {
        layers_.insert(placed.id);
      }
    }
  }

  /// Widens `x`. Returns whether any reader of `x` gains by it.
  bool widen(ValueId x) {
    const std::optional<ValueId> high = behind_pair(graph_, x);
    if (!high) return false;
    bool any = false;
    for (const ElementFunction& function : ground_.placement().functions) {
      if (function.input == x) any = leave_real(function, *high) || any;
    }
    std::vector<NodeId> layers;
    for (const NodeId reader : graph_.consumers(*high)) {
      if (layers_.contains(reader) && graph_.node(reader).inputs[0] == *high) {
        layers.push_back(reader);
      }
    }
    std::ranges::sort(layers);
    if (!layers.empty()) {
      const std::optional<ValueId> low = low_part(x, *high);
      for (const NodeId layer : layers) {
        if (low) add_layer(layer, *low);
      }
      any = any || low;
    }
    return any;
  }

 private:
  /// Makes the nodes of the function read `x` before it is rounded.
  bool leave_real(const ElementFunction& function, ValueId high) {
    const std::unordered_set<NodeId> nodes(function.nodes.begin(), function.nodes.end());
    for (const NodeId id : nodes) {
      for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
        if (graph_.node(id).inputs[i] == high) graph_.set_input(id, i, function.input);
      }
    }
    std::int64_t& tables = report_.functions;
    --tables;
    const std::string reason =
        concat("its input '", graph_.value(function.input).name, "' keeps 16 bits");
    std::unordered_set<std::string_view> names;
    for (const NodeId id : nodes) names.insert(name_of(ground_.graph(), id));
    for (NodeReport& row : report_.nodes) {
      if (!names.contains(row.node)) continue;
      row.role = NodeRole::kFloat;
      row.reason = reason;
    }
    return true;
  }

  ValueId add_node(std::string_view op, std::vector<ValueId> inputs, const std::string& name) {
    const ValueId output = graph_.add_value(graph_.unique_name(name));
    add_node(op, std::move(inputs), output);
    return output;
  }
  void add_node(std::string_view op, std::vector<ValueId> inputs, ValueId output) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph_.add_node(std::move(node));
    ++report_.added_nodes;
  }

  /// The rounding error of `x`, quantized with a step that is smaller by kWideSteps. Nothing if
  /// that step is too small for a float.
  std::optional<ValueId> low_part(ValueId x, ValueId high) {
    const Scheme& scheme = ground_.target().activations;
    const float step =
        ground_.activations().by_value[static_cast<std::size_t>(x)].value().scale / kWideSteps;
    if (!std::isnormal(step)) return std::nullopt;
    const std::string stem = name_stem(graph_.value(x).name);
    const ValueId scale =
        graph_.add_constant(graph_.unique_name(concat(stem, "_ls")), Tensor::scalar<float>(step));
    const ValueId zero =
        graph_.add_constant(graph_.unique_name(concat(stem, "_lz")),
                            scheme.dtype == DType::kUInt8 ? Tensor::scalar<std::uint8_t>(128)
                                                          : Tensor::scalar<std::int8_t>(0));
    const ValueId rest = add_node("Sub", {x, high}, concat(stem, "_low"));
    const ValueId integers = add_node("QuantizeLinear", {rest, scale, zero}, concat(stem, "_lq"));
    return add_node("DequantizeLinear", {integers, scale, zero}, concat(stem, "_ldq"));
  }

  /// Runs the layer on `low` too, and adds the result to that of the layer.
  void add_layer(NodeId id, ValueId low) {
    const Node node = graph_.node(id);
    const ValueId result = node.outputs[0];
    const std::string stem = name_stem(graph_.value(result).name);
    const ValueId of_high = graph_.add_value(graph_.unique_name(concat(stem, "_high")));
    const ValueId of_low = graph_.add_value(graph_.unique_name(concat(stem, "_low")));
    graph_.set_output(id, 0, of_high);
    Node second = node;
    second.name = graph_.unique_name(concat(name_stem(name_of(ground_.graph(), id)), "_low"));
    second.inputs = {low, node.inputs[1]};
    second.outputs = {of_low};
    graph_.add_node(std::move(second));
    ++report_.added_nodes;
    add_node("Add", {of_high, of_low}, result);
  }

  const Groundwork& ground_;
  Graph& graph_;
  QuantizeReport& report_;
  std::unordered_set<NodeId> layers_;  ///< layers with weights that run on integers
};

}  // namespace

void widen_tensors(const Groundwork& ground, const std::vector<std::string>& names, Graph& emitted,
                   QuantizeReport& report) {
  if (names.empty()) return;
  const Target& target = ground.target();
  if (!target.wide_activations) {
    throw Error(ErrorCode::kUsage,
                concat("wide tensors: target '", target.name, "' has none, expected target qtool"));
  }
  if (target.activations.bits != 8) {
    throw Error(ErrorCode::kUsage, concat("wide tensors: found activations of ",
                                          target.activations.bits, " bits, expected 8"));
  }
  const Graph& graph = ground.graph();
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
  Widener widener(ground, emitted, report);
  for (const std::size_t i : match_names(known, names, "tensor")) {
    (widener.widen(values[i]) ? report.wide : report.not_wide).push_back(known[i]);
  }
  emitted.remove_dead_nodes();
  emitted.sort();
  emitted.check();
  report.quantized_tensors = std::ranges::count_if(ground.placement().quantized, [&](ValueId id) {
    return behind_pair(emitted, id).has_value();
  });
}

}  // namespace qtool
