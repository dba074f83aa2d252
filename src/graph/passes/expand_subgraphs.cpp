#include "graph/passes/expand_subgraphs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/node_name.h"
#include "graph/passes/scan_to_loop.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using Nodes = std::vector<NodeId>;

template <typename T>
std::shared_ptr<const Tensor> scalar_of(T value) {
  return std::make_shared<const Tensor>(Tensor::scalar<T>(value));
}

void append(Nodes& nodes, const Nodes& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
}

// -- If --

std::optional<Nodes> expand_if(Graph& graph, NodeId id, const ExpandTools& tools) {
  require_count(graph, id, "inputs of an If", graph.node(id).own_inputs(), 1);
  const std::optional<bool> condition =
      steering_value<bool>(tools.known(graph.node(id).inputs[0]), graph.describe(id));
  if (!condition) return std::nullopt;
  const SubgraphUse use = subgraph_of(graph, id, *condition ? "then_branch" : "else_branch");
  const Graph& branch = use.subgraph->graph;
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  require_count(graph, id, "inputs of a branch", branch.inputs().size(), use.captured.size());
  require_count(graph, id, "outputs of a branch", branch.outputs().size(), outputs.size());
  std::vector<KnownValue> known;
  for (const ValueId value : use.captured) known.push_back(tools.known(value));
  BoundGraph bound = bind_inputs(branch, known);
  std::vector<ValueId> inputs;
  for (const std::size_t i : bound.inputs) inputs.push_back(use.captured[i]);
  const Graph folded = tools.fold(std::move(bound.graph));
  const std::string prefix = prefix_of(graph, id);
  disconnect(graph, id);
  return Inliner(graph).copy(folded, inputs, outputs, prefix);
}

// -- Loop --

// One iteration of a body, after folding everything that is known.
struct Iteration {
  Graph body;
  std::vector<std::size_t> inputs;  // indices of the body's inputs that are left
};

std::int64_t bytes_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::int64_t {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::int64_t bytes = 0;
          for (const std::string& text : value) bytes += std::ssize(text);
          return bytes;
        } else if constexpr (requires { value.size(); }) {
          return std::ssize(value) * static_cast<std::int64_t>(sizeof(value[0]));
        }
        return 0;  // a number, or a tensor or subgraph that is shared
      },
      attribute);
}

// The bytes of a declared shape: its axes after the first 8, and its symbols. The values of
// networks usually have up to 8 axes; these count as a part of their node.
std::int64_t bytes_of(const std::vector<Dim>& shape) {
  constexpr std::int64_t kUsualAxes = 8;
  std::int64_t bytes = std::max<std::int64_t>(std::ssize(shape) - kUsualAxes, 0) *
                       static_cast<std::int64_t>(sizeof(Dim));
  for (const Dim& dim : shape) bytes += std::ssize(dim.symbol);
  return bytes;
}

// The cost of holding one more copy of a folded body, counted in nodes. Long names, attributes,
// shapes and constants count as well; otherwise a small file could fill the memory. Constants of
// `body` cost nothing, because they are shared.
std::int64_t cost_of(const Graph& folded, const Graph& body) {
  constexpr std::int64_t kBytesOfANode = 256;
  constexpr std::int64_t kBytesOfAConstant = 1024;
  std::unordered_set<const Tensor*> shared;
  for (const ValueId id : body.living_values()) shared.insert(body.value(id).constant.get());
  std::int64_t bytes = 0;
  std::int64_t constants = 0;
  for (const ValueId id : folded.living_values()) {
    const Value& value = folded.value(id);
    bytes += std::ssize(value.name);
    if (value.shape) bytes += bytes_of(*value.shape);
    if (value.constant != nullptr && !shared.contains(value.constant.get())) {
      constants += value.constant->bytes();
    }
  }
  for (const NodeId id : folded.nodes()) {
    bytes += std::ssize(folded.node(id).name);
    for (const auto& [name, attribute] : folded.node(id).attributes) bytes += bytes_of(attribute);
  }
  return 1 + std::ssize(folded.nodes()) + bytes / kBytesOfANode + constants / kBytesOfAConstant;
}

// All iterations; std::nullopt when their number is unknown or too large.
std::optional<std::vector<Iteration>> unroll(const Graph& graph, NodeId id, const LoopParts& parts,
                                             const ExpandTools& tools) {
  const Node& node = graph.node(id);
  const std::string what = graph.describe(id);
  std::int64_t trips = std::numeric_limits<std::int64_t>::max();
  if (node.has_input(0)) {
    const auto given = steering_value<std::int64_t>(tools.known(node.inputs[0]), what);
    if (!given) return std::nullopt;
    trips = std::max(*given, std::int64_t{0});  // a negative trip count means no iterations
  }
  if (node.has_input(1)) {
    const auto given = steering_value<bool>(tools.known(node.inputs[1]), what);
    if (!given) return std::nullopt;
    if (!*given) trips = 0;
  }
  const Graph& body = parts.body.subgraph->graph;
  // Checked before the work, which would leave no budget for other loops.
  const auto nodes = static_cast<std::int64_t>(body.nodes().size());
  if (always_continues(body) && trips > tools.budget.copies / (nodes + 1)) return std::nullopt;
  std::vector<KnownValue> known(2 + parts.states);
  known[1].constant = scalar_of(true);
  for (std::size_t i = 0; i < parts.states; ++i) known[2 + i] = tools.known(node.inputs[2 + i]);
  for (const ValueId value : parts.body.captured) known.push_back(tools.known(value));
  std::vector<Iteration> iterations;
  for (std::int64_t i = 0; i < trips; ++i) {
    if (tools.budget.copies <= 0)
      return std::nullopt;  // checked first, because inner loops double the work
    known[0].constant = scalar_of(i);
    BoundGraph bound = bind_inputs(body, known);
    iterations.push_back({tools.fold(std::move(bound.graph)), std::move(bound.inputs)});
    const Graph& folded = iterations.back().body;
    tools.budget.copies -= cost_of(folded, body);
    if (tools.budget.copies < 0) return std::nullopt;
    const auto more =
        steering_value<bool>({folded.value(folded.outputs()[0]).constant, {}, {}}, what);
    if (!more) return std::nullopt;
    if (!*more) break;
    for (std::size_t k = 0; k < parts.states; ++k) {
      const Value& state = folded.value(folded.outputs()[1 + k]);
      known[2 + k] = {state.constant, state.dtype, state.shape};
    }
  }
  return iterations;
}

// Stacks the slices of one scan output along axis 0.
void add_stack(Graph& graph, const std::vector<ValueId>& slices, ValueId axes, ValueId output,
               std::string_view prefix, Nodes& added) {
  std::vector<ValueId> rows;
  for (const ValueId slice : slices) {
    rows.push_back(add_named(graph, prefix, "row"));
    added.push_back(add_op(graph, "Unsqueeze", {slice, axes}, rows.back()));
  }
  added.push_back(add_op(graph, "Concat", rows, output, {{"axis", std::int64_t{0}}}));
}

std::optional<Nodes> expand_loop(Graph& graph, NodeId id, const ExpandTools& tools) {
  const LoopParts parts = parts_of_loop(graph, id);
  const auto iterations = unroll(graph, id, parts, tools);
  if (!iterations) return std::nullopt;
  if (iterations->empty() && parts.scans > 0) return std::nullopt;  // nothing to stack
  const std::string prefix = prefix_of(graph, id);
  const Node node = graph.node(id);  // a copy: it is disconnected now
  const auto captured = std::span(node.inputs).subspan(2 + parts.states);
  disconnect(graph, id);

  std::vector<ValueId> states(node.inputs.begin() + 2,
                              node.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(parts.states));
  std::vector<std::vector<ValueId>> slices(parts.scans);
  Nodes added;
  Inliner inliner(graph);
  for (std::size_t i = 0; i < iterations->size(); ++i) {
    const Iteration& iteration = (*iterations)[i];
    const std::string here = to_text(prefix, i, "/");
    std::vector<ValueId> inputs;
    for (const std::size_t input : iteration.inputs) {
      inputs.push_back(input < 2 + parts.states ? states[input - 2]
                                                : captured[input - 2 - parts.states]);
    }
    std::vector<ValueId> outputs = {kNoValue};  // the condition
    const bool is_last = i + 1 == iterations->size();
    for (std::size_t k = 0; k < parts.states; ++k) {
      const bool direct = is_last && node.has_output(k);
      outputs.push_back(direct ? node.outputs[k] : add_named(graph, here, "state"));
    }
    for (std::size_t k = 0; k < parts.scans; ++k) {
      const bool wanted = node.has_output(parts.states + k);
      outputs.push_back(wanted ? add_named(graph, here, "slice") : kNoValue);
      slices[k].push_back(outputs.back());
    }
    append(added, inliner.copy(iteration.body, inputs, outputs, here));
    states.assign(outputs.begin() + 1,
                  outputs.begin() + 1 + static_cast<std::ptrdiff_t>(parts.states));
  }
  for (std::size_t k = 0; iterations->empty() && k < parts.states; ++k) {
    if (node.has_output(k))
      added.push_back(add_op(graph, "Identity", {states[k]}, node.outputs[k]));
  }
  const ValueId axes = parts.scans > 0 ? add_ints(graph, to_text(prefix, "axes"), {0}) : kNoValue;
  for (std::size_t k = 0; k < parts.scans; ++k) {
    if (!node.has_output(parts.states + k)) continue;
    add_stack(graph, slices[k], axes, node.outputs[parts.states + k], prefix, added);
  }
  return added;
}

}  // namespace

void ExpandBudget::spend(std::int64_t nodes) {
  work -= nodes + 1;
  if (work >= 0) return;
  throw Error(ErrorCode::kUnsupported, "the subgraphs of the model lie too deep in each other");
}

template <typename T>
std::optional<T> steering_value(const KnownValue& known, std::string_view what) {
  if (known.constant == nullptr) return std::nullopt;
  const Tensor& tensor = *known.constant;
  constexpr bool kIsBool = std::is_same_v<T, bool>;
  if (tensor.dtype() != (kIsBool ? DType::kBool : DType::kInt64) || tensor.elements() != 1) {
    throw Error(ErrorCode::kInvalidModel,
                to_text(what, ": its ", kIsBool ? "condition" : "trip count", " is ",
                        tensor.elements(), " elements of ", name_of(tensor.dtype()),
                        ", expected one ", kIsBool ? "bool" : "int64"));
  }
  return tensor.values<T>()[0];
}
template std::optional<bool> steering_value(const KnownValue&, std::string_view);
template std::optional<std::int64_t> steering_value(const KnownValue&, std::string_view);

LoopParts parts_of_loop(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  LoopParts parts;
  parts.body = subgraph_of(graph, id, "body");
  const Graph& body = parts.body.subgraph->graph;
  const std::size_t own = node.own_inputs();
  parts.states = own < 2 ? 0 : own - 2;
  require_count(graph, id, "inputs of the body", body.inputs().size(),
                2 + parts.states + parts.body.captured.size());
  if (body.outputs().size() < 1 + parts.states) {
    fail_node(graph, id,
              to_text("outputs of the body: found ", body.outputs().size(), ", expected at least ",
                      1 + parts.states));
  }
  parts.scans = body.outputs().size() - 1 - parts.states;
  if (node.outputs.size() > parts.states + parts.scans) {
    fail_node(graph, id,
              to_text("outputs: found ", node.outputs.size(), ", expected at most ",
                      parts.states + parts.scans));
  }
  for (std::size_t i = 0; i < parts.states; ++i) {
    if (node.inputs[2 + i] == kNoValue)
      fail_node(graph, id, to_text("input ", 2 + i, " is left out"));
  }
  return parts;
}

bool always_continues(const Graph& body) {
  const ValueId more = body.outputs()[0];
  const Value& value = body.value(more);
  if (value.constant != nullptr)
    return steering_value<bool>({value.constant, {}, {}}, "Loop").value();
  if (value.producer == kNoNode) return more == body.inputs()[1];
  const Node& producer = body.node(value.producer);
  return producer.is("Identity") && producer.inputs[0] == body.inputs()[1];
}

std::optional<Nodes> expand_node(Graph& graph, NodeId id, const ExpandTools& tools) {
  if (graph.node(id).is("If")) return expand_if(graph, id, tools);
  if (graph.node(id).is("Loop")) return expand_loop(graph, id, tools);
  if (!graph.node(id).is("Scan")) return std::nullopt;
  std::optional<Nodes> nodes = scan_to_loop(graph, id, tools);
  if (!nodes) return std::nullopt;
  if (const std::optional<Nodes> turns = expand_loop(graph, nodes->front(), tools)) {
    nodes->erase(nodes->begin());
    append(*nodes, *turns);
  }
  return nodes;
}

bool expand_subgraphs(Graph& graph, const ExpandTools& tools) {
  bool expanded = false;
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    if (!graph.node(id).has_subgraphs()) continue;
    if (expand_node(graph, id, tools)) {
      expanded = true;
      continue;
    }
    change_subgraphs(graph, id, [&](Graph body, std::span<const ValueId> captured) {
      std::vector<KnownValue> known(body.inputs().size());
      for (std::size_t i = 0; i < captured.size(); ++i) {
        KnownValue& value = known[known.size() - captured.size() + i];
        value = tools.known(captured[i]);
        value.constant = nullptr;  // it stays an input
      }
      return tools.fold(bind_inputs(body, known).graph);
    });
    drop_unread_captures(graph, id);
  }
  graph.sort();
  graph.remove_dead_nodes();
  return expanded;
}

}  // namespace qtool
