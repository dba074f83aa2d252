// Operators of bytes that depend on one tensor only become one table. A SiLU whose Sigmoid is
// quantized is such a case: x * Sigmoid(x) depends on x alone.
#include <algorithm>
#include <optional>
#include <variant>

#include "graph/edit.h"
#include "lower/passes.h"
#include "ops/evaluate.h"

namespace qtool {
namespace {

/// A tensor of bytes as a function of another one.
struct Table {
  ValueId input = kNoValue;
  QLookupParams::Table results{};
};

const QLookupParams::Table* single_table(const Clusters& c, NodeId id) {
  if (id == kNoNode) return nullptr;
  const auto* params = std::get_if<QLookupParams>(&c.shaped.lowered(id).params);
  return params != nullptr && params->tables.size() == 1 ? params->tables.data() : nullptr;
}

/// `id` as a function of the tensor from which tables compute it, or of itself. The producer of
/// `id` is done already, so it reads no other table.
Table table_of(const Clusters& c, ValueId id) {
  const NodeId producer = c.graph.value(id).producer;
  if (const QLookupParams::Table* table = single_table(c, producer)) {
    return {c.graph.node(producer).inputs[0], *table};
  }
  Table same{id, {}};
  for (std::size_t i = 0; i < same.results.size(); ++i) {
    same.results[i] = static_cast<std::uint8_t>(i);
  }
  return same;
}

Tensor bytes_of(const QLookupParams::Table& table) {
  Tensor bytes(DType::kUInt8, Shape{std::ssize(table)});
  std::copy(table.begin(), table.end(), bytes.values<std::uint8_t>().begin());
  return bytes;
}

/// The results of an operator of two tensors for all bytes of the one tensor that both come from.
/// The operator itself computes them, so the bytes are the same.
std::optional<QLookupParams::Table> evaluate(const Clusters& c, NodeId id, const Table& a,
                                             const Table& b) {
  Graph alone;
  Node copy = c.graph.node(id);
  copy.inputs = {alone.add_constant("a", bytes_of(a.results)),
                 alone.add_constant("b", bytes_of(b.results))};
  copy.outputs = {alone.add_value("y")};
  const auto results =
      evaluate_node(alone, alone.add_node(std::move(copy)), c.shaped.lowered(id).params);
  if (!results) return std::nullopt;
  QLookupParams::Table table{};
  const auto bytes = results->front().values<std::uint8_t>();
  std::copy(bytes.begin(), bytes.end(), table.begin());
  return table;
}

void make_table(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const ValueId input = node.inputs[0];
  if (const QLookupParams::Table* own = single_table(c, id)) {
    const Table first = table_of(c, input);
    if (first.input == input) return;
    QLookupParams::Table both{};
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = (*own)[first.results[i]];
    c.graph.set_input(id, 0, first.input);
    c.shaped.lower_node(id, "QLookup", QLookupParams{{both}});
    return;
  }
  if (!std::holds_alternative<QBinaryParams>(c.shaped.lowered(id).params)) return;
  // evaluate_node() runs operators that requantize by floats.
  if (c.requantization != Requantization::kFloat) return;
  const Table a = table_of(c, input);
  const Table b = table_of(c, node.inputs[1]);
  const Shape& shape = c.shaped.info(node.outputs[0]).shape;
  if (a.input != b.input || c.shaped.info(a.input).shape != shape) return;
  const std::optional<QLookupParams::Table> table = evaluate(c, id, a, b);
  if (!table) return;
  c.graph.truncate_inputs(id, 1);
  c.graph.set_input(id, 0, a.input);
  c.shaped.lower_node(id, "QLookup", QLookupParams{{*table}});
}

}  // namespace

void join_tables(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (!is_gone(c.graph, id)) make_table(c, id);
  }
  c.graph.remove_dead_nodes();
}

}  // namespace qtool
