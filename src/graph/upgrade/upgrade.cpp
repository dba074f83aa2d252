#include "graph/upgrade/upgrade.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "graph/arity.h"
#include "graph/edit.h"
#include "graph/node_name.h"
#include "graph/obstacles.h"
#include "graph/onnx/four_bits.h"
#include "graph/onnx/schema.h"
#include "graph/op_traits.h"
#include "graph/subgraphs.h"

namespace qtool {

#define QTOOL_UPGRADE(op, rule) void rule(Upgrade&);
#include "graph/upgrade/upgrades.inc"
#define QTOOL_MICROSOFT(op, inputs, outputs, attributes, rule) void rule(Upgrade&);
#include "graph/upgrade/microsoft.inc"

namespace {

struct UpgradeRow {
  std::string_view op_type;
  UpgradeRule rule;
};

constexpr auto kUpgrades = std::to_array<UpgradeRow>({
#define QTOOL_UPGRADE(op, rule) {#op, rule},
#include "graph/upgrade/upgrades.inc"
});

struct MicrosoftRow {
  std::string_view op_type;
  std::string_view attributes;  // separated by spaces
  UpgradeRule rule;
};

constexpr auto kMicrosoftUpgrades = std::to_array<MicrosoftRow>({
#define QTOOL_MICROSOFT(op, inputs, outputs, attributes, rule) {#op, attributes, rule},
#include "graph/upgrade/microsoft.inc"
});

static_assert(std::ranges::is_sorted(kUpgrades, {}, &UpgradeRow::op_type));
static_assert(std::ranges::is_sorted(kMicrosoftUpgrades, {}, &MicrosoftRow::op_type));

template <typename Rows>
auto find_row(const Rows& rows, std::string_view op_type) -> decltype(rows.data()) {
  const auto row = std::ranges::lower_bound(rows, op_type, {}, &Rows::value_type::op_type);
  return row != rows.end() && row->op_type == op_type ? &*row : nullptr;
}

// Throws when the model has operators that only opsets after the canonical one have and that no
// rule rewrites. The message names all operators that qtool does not run.
void require_known_operators(const Graph& graph) {
  bool unknown = false;
  Obstacles obstacles;
  for_each_node(graph, [&](const Graph& around, NodeId id) {
    const Node& node = around.node(id);
    if (is_runnable(node.op_type, node.domain)) return;
    obstacles.add(node.op_type, node.domain, name_of(around, id));
    unknown = unknown || is_unknown(node);
  });
  if (unknown) obstacles.fail(graph.info);
}

// ONNX leaves names that begin with two underscores to tools.
bool is_internal(std::string_view attribute) {
  return attribute.starts_with("__") || attribute == kBitsAttribute;
}

// Throws when a node has an attribute that its operator does not have, such as a mistyped name or
// an attribute of another opset. Such an attribute may be meant to change the result. Newer
// attributes that upgrade_opset() keeps are accepted in the canonical opset.
void require_attributes(const Graph& graph, NodeId id, std::int64_t opset) {
  const Node& node = graph.node(id);
  if (node.attributes.empty()) return;
  const OperatorSchema schema(node.op_type, opset);
  if (!schema.exists()) return;
  for (const auto& [name, attribute] : node.attributes) {
    if (is_internal(name) || schema.has_attribute(name)) continue;
    if (opset == kCanonicalOpset && is_newer_attribute(node.op_type, name)) continue;
    throw Error(ErrorCode::kInvalidModel,
                to_text(graph.describe(id), ": has the attribute '", name, "', which ",
                        node.op_type, " of opset ", opset, " does not have"));
  }
}

// Throws when a node of a newer opset could silently change its meaning, because no rule has
// rewritten it.
void require_known(const Graph& graph, NodeId id, std::int64_t from) {
  const Node& node = graph.node(id);
  const Arity* arity = find_arity(node.op_type, kCanonicalOpset);
  if (traits_of(node).runs && arity != nullptr && arity->since > kCanonicalOpset) return;
  const OperatorSchema schema(node.op_type, kCanonicalOpset);
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::kUnsupported,
                to_text(graph.describe(id), ": ", what, " opset ", from,
                        "; qtool knows operators up to opset ", kCanonicalOpset));
  };
  if (!schema.exists()) fail(to_text("is operator ", node.op_type, " of"));
  for (const auto& [name, attribute] : node.attributes) {
    if (is_internal(name) || is_newer_attribute(node.op_type, name)) continue;
    if (!schema.has_attribute(name)) fail(to_text("has the attribute '", name, "' of"));
  }
  // Values that its subgraphs capture are not inputs of the operator.
  const std::size_t inputs = node.own_inputs();
  if (arity != nullptr && inputs > arity->inputs.size() && !arity->is_open()) {
    fail(to_text("has ", inputs, " inputs as in"));
  }
}

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t space = std::min(words.find(' '), words.size());
    if (words.substr(0, space) == word) return true;
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return false;
}

// Rewrites a node of com.microsoft. A node with an unknown operator stays: the code that runs a
// model reports all unknown operators in one message.
void upgrade_microsoft(Graph& graph, NodeId id, std::int64_t from) {
  const Node& node = graph.node(id);
  const MicrosoftRow* row = find_row(kMicrosoftUpgrades, node.op_type);
  if (row == nullptr) return;
  for (const auto& [name, attribute] : node.attributes) {
    if (name == kBitsAttribute || lists(row->attributes, name)) continue;
    throw Error(ErrorCode::kUnsupported,
                to_text(graph.describe(id), ": has the attribute '", name, "', which the operator ",
                        kMicrosoftDomain, ".", node.op_type, " is not known to have"));
  }
  Upgrade upgrade(graph, id, from);
  row->rule(upgrade);
}

// The first opset that has an operator. Some exporters use an operator that is newer than the opset
// they state. It can only mean the first version of the operator.
std::int64_t first_opset(std::string_view op_type) {
  const Arity* first = find_arity(op_type, 1);
  return first == nullptr ? 1 : first->since;
}

// Removes the import of a domain if no node belongs to that domain any longer.
void drop_import(Graph& graph, std::string_view domain) {
  bool used = false;
  for_each_node(graph, [&](const Graph& around, NodeId id) {
    used = used || around.node(id).domain == domain;
  });
  if (!used) graph.info.opsets.erase(std::string(domain));
}

}  // namespace

bool is_unknown(const Node& node) {
  return node.domain.empty() && !is_runnable(node.op_type, "") && !has_upgrade(node.op_type) &&
         !OperatorSchema(node.op_type, kCanonicalOpset).exists();
}

bool has_upgrade(std::string_view op_type, std::string_view domain) {
  if (domain == kMicrosoftDomain) return find_row(kMicrosoftUpgrades, op_type) != nullptr;
  return domain.empty() && find_row(kUpgrades, op_type) != nullptr;
}

void upgrade_opset(Graph& graph) {
  const std::int64_t from = graph.info.opsets.try_emplace("", kCanonicalOpset).first->second;
  if (from > kCanonicalOpset) require_known_operators(graph);
  const std::vector<NodeId> order = graph.nodes();
  bool translated = false;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (node.domain == kMicrosoftDomain) {
      upgrade_microsoft(graph, id, from);
      translated = translated || graph.node(id).domain.empty();
      continue;
    }
    if (!node.domain.empty()) continue;
    if (from <= kCanonicalOpset) {
      require_attributes(graph, id, std::max(from, first_opset(node.op_type)));
    }
    // The first opsets had this attribute as a hint about memory.
    if (from < 6 && node.has("consumed_inputs")) graph.attributes(id).erase("consumed_inputs");
    if (const UpgradeRow* row = find_row(kUpgrades, node.op_type)) {
      Upgrade upgrade(graph, id, std::max(from, first_opset(node.op_type)));
      row->rule(upgrade);
    }
    if (from > kCanonicalOpset) {
      require_known(graph, id, from);
    } else if (graph.node(id).domain.empty()) {
      // A saved file states the canonical opset, so the attributes must be valid in it.
      require_attributes(graph, id, kCanonicalOpset);
    }
  }
  graph.info.opsets[""] = kCanonicalOpset;
  if (translated) drop_import(graph, kMicrosoftDomain);
  require_operands(graph);  // nodes without a rule may have operands that only their opset had
}

std::vector<std::int64_t> Upgrade::constant_ints(std::size_t index, std::string_view what) const {
  const Tensor* tensor = constant(index);
  if (tensor == nullptr) fail(to_text(what, " depend on the data; only constants are supported"));
  return to_int64s(*tensor);
}

std::int64_t Upgrade::require_rank(std::size_t index) const {
  const std::optional<std::int64_t> rank = rank_of(graph_, input(index));
  if (!rank) fail(to_text("the number of axes of input ", index, " is unknown"));
  return *rank;
}

std::vector<std::int64_t> Upgrade::plain_axes(std::vector<std::int64_t> axes,
                                              std::int64_t rank) const {
  for (std::int64_t& axis : axes) axis = normalize_axis(axis, rank, graph_.describe(id_));
  return axes;
}

void Upgrade::drop(std::string_view key) {
  Node::AttributeMap& map = attributes();
  const auto found = map.find(key);
  if (found != map.end()) map.erase(found);
}

template <typename T>
std::optional<T> Upgrade::take(std::string_view key, std::string_view type) {
  Node::AttributeMap& map = attributes();
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  T* value = std::get_if<T>(&found->second);
  if (value == nullptr) {
    throw Error(ErrorCode::kInvalidModel,
                to_text(graph_.describe(id_), ": attribute '", key, "' is not of type ", type));
  }
  std::optional<T> result = std::move(*value);
  map.erase(found);
  return result;
}

std::optional<std::int64_t> Upgrade::take_int(std::string_view key) {
  return take<std::int64_t>(key, "int");
}
std::optional<float> Upgrade::take_float(std::string_view key) { return take<float>(key, "float"); }
std::optional<std::string> Upgrade::take_string(std::string_view key) {
  return take<std::string>(key, "string");
}
std::optional<std::vector<std::int64_t>> Upgrade::take_ints(std::string_view key) {
  return take<std::vector<std::int64_t>>(key, "ints");
}
std::optional<std::vector<float>> Upgrade::take_floats(std::string_view key) {
  return take<std::vector<float>>(key, "floats");
}

std::string Upgrade::value_name(std::string_view suffix) const {
  const Node& n = node();
  const std::string base = n.has_output(0) ? graph_.value(n.outputs[0]).name : n.op_type;
  return graph_.unique_name(to_text(base, "_", suffix));
}

std::string Upgrade::node_name(std::string_view suffix) const {
  return node().name.empty() ? "" : to_text(node().name, "_", suffix);
}

void Upgrade::become(std::string op_type, std::int64_t opset) {
  set_op(std::move(op_type));
  Upgrade upgrade(graph_, id_, opset);
  if (const UpgradeRow* row = find_row(kUpgrades, node().op_type)) row->rule(upgrade);
}

ValueId Upgrade::add_constant(std::string_view suffix, Tensor tensor) {
  return graph_.add_constant(value_name(suffix), std::move(tensor));
}

ValueId Upgrade::add_ints(std::string_view suffix, const std::vector<std::int64_t>& values) {
  return add_constant(suffix, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                       std::span<const std::int64_t>(values)));
}

void Upgrade::ints_to_input(std::string_view key, std::size_t index) {
  const std::optional<std::vector<std::int64_t>> values = take_ints(key);
  if (values) set_input(index, add_ints(key, *values));
}

ValueId Upgrade::before(std::string_view op_type, std::vector<ValueId> inputs,
                        std::string_view suffix, Node::AttributeMap attributes) {
  const ValueId output = add_value(suffix);
  graph_.add_node({node_name(suffix),
                   std::string(op_type),
                   "",
                   std::move(inputs),
                   {output},
                   std::move(attributes)},
                  id_);
  return output;
}

void Upgrade::before(std::string_view op_type, std::vector<ValueId> inputs, ValueId output,
                     Node::AttributeMap attributes) {
  graph_.add_node(
      {"", std::string(op_type), "", std::move(inputs), {output}, std::move(attributes)}, id_);
}

std::vector<ValueId> Upgrade::before_all(std::string_view op_type, std::vector<ValueId> inputs,
                                         const std::vector<std::string_view>& suffixes) {
  std::vector<ValueId> outputs;
  for (const std::string_view suffix : suffixes) outputs.push_back(add_value(suffix));
  graph_.add_node(
      {node_name(suffixes.front()), std::string(op_type), "", std::move(inputs), outputs, {}}, id_);
  return outputs;
}

ValueId Upgrade::after(std::string_view op_type, std::vector<ValueId> more_inputs,
                       std::string_view suffix, Node::AttributeMap attributes) {
  const ValueId output = node().outputs[0];
  const ValueId inner = add_value(suffix);
  graph_.set_output(id_, 0, inner);
  more_inputs.insert(more_inputs.begin(), inner);
  graph_.add_node({node_name(suffix),
                   std::string(op_type),
                   "",
                   std::move(more_inputs),
                   {output},
                   std::move(attributes)},
                  graph_.node_behind(id_));
  return inner;
}

void Upgrade::after(std::string_view op_type, std::vector<ValueId> inputs, ValueId output) {
  graph_.add_node({"", std::string(op_type), "", std::move(inputs), {output}, {}},
                  graph_.node_behind(id_));
}

void Upgrade::fail(std::string_view message) const {
  throw Error(ErrorCode::kUnsupported,
              to_text(graph_.describe(id_), " of opset ", from_, ": ", message));
}

}  // namespace qtool
