#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/arity.h"
#include "graph/onnx/four_bits.h"
#include "graph/onnx/schema.h"
#include "graph/passes/passes.h"
#include "graph/rank.h"
#include "graph/subgraphs.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

bool holds(const Node& node, const NewerAttribute& row) {
  if (!node.has(row.name)) return false;
  return row.value.empty() || node.get_string(row.name, "") == row.value;
}

// Quantization to 16 bits came with opset 21. The integers or the zero point show the type.
bool has_16_bits(const Graph& graph, const Node& node) {
  if (!node.is("QuantizeLinear") && !node.is("DequantizeLinear")) return false;
  for (const ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    const Value& value = graph.value(id);
    const auto dtype = value.constant != nullptr ? value.constant->dtype() : value.dtype;
    if (dtype == DType::kUInt16 || dtype == DType::kInt16) return true;
  }
  return false;
}

std::int64_t least_opset(const Graph& graph, const Node& node) {
  std::int64_t least = kCanonicalOpset;
  const Arity* arity = find_arity(node.op_type, kCanonicalOpset);
  if (arity != nullptr) least = std::max(least, arity->since);
  for (const NewerAttribute& row : traits_of(node).newer) {
    if (holds(node, row)) least = std::max(least, row.since);
  }
  if (node.op_type == "GridSample" && rank_of(graph, node.inputs.at(0)) == 5) {
    least = std::max<std::int64_t>(least, 20);
  }
  const bool wide = has_16_bits(graph, node);
  if (wide || dequantizes_four_bits(node)) least = std::max<std::int64_t>(least, 21);
  return least;
}

// Undoes what upgrade_opset() changed in a node and the newer opset writes differently: axes become
// an input again, Split gets `num_outputs`, GridSample its newer mode names.
void raise_node(Upgrade& up, std::int64_t to) {
  const std::string op = up.node().op_type;
  if (op.starts_with("Reduce") && op != "ReduceSum") {
    up.ints_to_input("axes", 1);
  } else if (op == "Split" && up.input(1) == kNoValue) {
    up.attributes()["num_outputs"] = std::ssize(up.node().outputs);
  } else if (op == "GridSample" && to >= 20) {
    const std::string mode = up.node().get_string("mode", "bilinear");
    if (mode == "bilinear" || mode == "bicubic") up.attributes()["mode"] = mode.substr(2);
  }
}

void raise_nodes(Graph& graph, std::int64_t to) {
  if (to == kCanonicalOpset) return;
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    if (!graph.node(id).domain.empty()) continue;
    Upgrade up(graph, id, kCanonicalOpset);
    raise_node(up, to);
    change_subgraphs(graph, id, [&](Graph body, std::span<const ValueId>) {
      raise_nodes(body, to);
      return body;
    });
  }
  graph.info.opsets[""] = to;
}

// Whether a node has an operator, such as Upsample, that ended before the canonical opset and that
// no rule has rewritten.
bool has_ended(const Node& node) {
  const Arity* first = find_arity(node.op_type, 1);
  return node.domain.empty() && first != nullptr && first->since <= kCanonicalOpset &&
         !OperatorSchema(node.op_type, kCanonicalOpset).exists();
}

}  // namespace

bool is_newer_attribute(std::string_view op_type, std::string_view attribute) {
  return std::ranges::any_of(traits_of(op_type).newer,
                             [&](const NewerAttribute& row) { return row.name == attribute; });
}

std::int64_t least_opset(const Graph& graph) {
  std::int64_t least = kCanonicalOpset;
  for_each_node(graph, [&](const Graph& around, NodeId id) {
    const Node& node = around.node(id);
    if (node.domain.empty()) least = std::max(least, least_opset(around, node));
  });
  return least;
}

void raise_opset(Graph& graph) {
  const auto opset = graph.info.opsets.find("");
  if (opset == graph.info.opsets.end() || opset->second != kCanonicalOpset) return;
  // It is unknown what such an operator means in another opset. A reader of a file with a newer
  // opset would take it for an operator of that opset.
  bool unknown = false;
  for_each_node(graph, [&](const Graph& around, NodeId id) {
    const Node& node = around.node(id);
    unknown = unknown || is_unknown(node) || has_ended(node);
  });
  if (unknown) return;
  raise_nodes(graph, least_opset(graph));
}

}  // namespace qtool
