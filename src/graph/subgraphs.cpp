#include "graph/subgraphs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/free_name.h"
#include "graph/id_map.h"
#include "graph/node_name.h"
#include "graph/rank.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// The inputs of a node without what its subgraphs capture.
std::vector<ValueId> own_operands(const Node& node) {
  return {node.inputs.begin(),
          node.inputs.begin() + static_cast<std::ptrdiff_t>(node.own_inputs())};
}

void set_operands(Graph& graph, NodeId id, const std::vector<ValueId>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.set_input(id, i, inputs[i]);
  graph.truncate_inputs(id, inputs.size());
}

}  // namespace

void fail_node(const Graph& graph, NodeId id, std::string_view message) {
  throw Error(ErrorCode::kInvalidModel, to_text(graph.describe(id), ": ", message));
}

void require_count(const Graph& graph, NodeId id, std::string_view what, std::size_t found,
                   std::size_t expected) {
  if (found == expected) return;
  fail_node(graph, id, to_text(what, ": found ", found, ", expected ", expected));
}

std::vector<SubgraphUse> subgraphs_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<SubgraphUse> uses;
  std::size_t next = node.own_inputs();
  for (const auto& [name, attribute] : node.attributes) {
    const auto* subgraph = std::get_if<SubgraphPtr>(&attribute);
    if (subgraph == nullptr) continue;
    const std::size_t count = (*subgraph)->captures;
    if (count > node.inputs.size() - next) {
      fail_node(graph, id, "lacks inputs that its subgraphs read");
    }
    uses.push_back({name, *subgraph, std::span(node.inputs).subspan(next, count)});
    next += count;
  }
  return uses;
}

SubgraphUse subgraph_of(const Graph& graph, NodeId id, std::string_view attribute) {
  for (SubgraphUse& use : subgraphs_of(graph, id)) {
    if (use.attribute == attribute) return std::move(use);
  }
  fail_node(graph, id, to_text("has no attribute '", attribute, "', expected a graph"));
}

void change_subgraphs(Graph& graph, NodeId id,
                      const std::function<Graph(Graph, std::span<const ValueId>)>& change) {
  for (const SubgraphUse& use : subgraphs_of(graph, id)) {
    auto changed = std::make_shared<const Subgraph>(
        Subgraph{change(use.subgraph->graph, use.captured), use.subgraph->captures});
    graph.attributes(id).find(use.attribute)->second = std::move(changed);
  }
}

void take_in_constants(Graph& graph) {
  constexpr std::int64_t kSmallConstant = 128;  // bytes; many subgraphs may hold the same constant
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    if (!graph.node(id).has_subgraphs()) continue;
    std::vector<ValueId> inputs = own_operands(graph.node(id));
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      const Graph& body = use.subgraph->graph;
      std::vector<KnownValue> known(body.inputs().size());
      const std::size_t first = known.size() - use.captured.size();
      std::size_t taken = 0;
      for (std::size_t i = 0; i < use.captured.size(); ++i) {
        const Value& value = graph.value(use.captured[i]);
        if (value.constant == nullptr || value.constant->bytes() > kSmallConstant) {
          inputs.push_back(use.captured[i]);
          continue;
        }
        known[first + i].constant = value.constant;
        ++taken;
      }
      if (taken == 0) continue;
      graph.attributes(id).find(use.attribute)->second = std::make_shared<const Subgraph>(
          Subgraph{bind_inputs(body, known).graph, use.captured.size() - taken});
    }
    set_operands(graph, id, inputs);
  }
}

void drop_unread_captures(Graph& graph, NodeId id) {
  std::vector<ValueId> inputs = own_operands(graph.node(id));
  for (const SubgraphUse& use : subgraphs_of(graph, id)) {
    const Graph& body = use.subgraph->graph;
    const std::size_t own = body.inputs().size() - use.captured.size();
    std::vector<ValueId> read(body.inputs().begin(),
                              body.inputs().begin() + static_cast<std::ptrdiff_t>(own));
    for (std::size_t i = 0; i < use.captured.size(); ++i) {
      const ValueId input = body.inputs()[own + i];
      if (body.consumers(input).empty() && !body.is_output(input)) continue;
      read.push_back(input);
      inputs.push_back(use.captured[i]);
    }
    if (read.size() == body.inputs().size()) continue;
    Subgraph narrowed{body, read.size() - own};
    narrowed.graph.set_inputs(std::move(read));
    graph.attributes(id).find(use.attribute)->second =
        std::make_shared<const Subgraph>(std::move(narrowed));
  }
  set_operands(graph, id, inputs);
}

void for_each_node(const Graph& graph, const std::function<void(const Graph&, NodeId)>& visit) {
  for (const NodeId id : graph.nodes()) {
    visit(graph, id);
    if (!graph.node(id).has_subgraphs()) continue;
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      for_each_node(use.subgraph->graph, visit);
    }
  }
}

Graph name_as_in_file(const SubgraphUse& use, std::span<const Graph* const> scopes) {
  Graph graph = use.subgraph->graph;
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(
        scopes, [&](const Graph* scope) { return scope->find_value(name).has_value(); });
  };
  for (std::size_t i = 0; i < graph.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const std::string& name = graph.value(id).name;
    if (!is_taken(name)) continue;
    graph.rename_value(id, free_name(name, [&](const std::string& free) {
                         return is_taken(free) || graph.find_value(free).has_value();
                       }));
  }
  const std::vector<ValueId> captures(
      graph.inputs().end() - static_cast<std::ptrdiff_t>(use.captured.size()),
      graph.inputs().end());
  std::unordered_map<ValueId, ValueId> first;  // first capture of each captured value
  for (std::size_t i = 0; i < captures.size(); ++i) {
    const auto [known, is_first] = first.emplace(use.captured[i], captures[i]);
    if (graph.is_output(captures[i])) {
      const ValueId copy = graph.add_value(graph.unique_name(graph.value(captures[i]).name));
      add_op(graph, "Identity", {known->second}, copy);
      graph.replace_output(captures[i], copy);
    }
    if (is_first) {
      graph.rename_value(captures[i], scopes.back()->value(use.captured[i]).name);
    } else {
      graph.replace_uses(captures[i], known->second);
    }
  }
  return graph;
}

std::string prefix_of(const Graph& graph, NodeId id) {
  return to_text(name_of(graph, id).substr(0, 128), "/");
}

ValueId Inliner::copy_constant(const Value& value, std::string_view prefix) {
  const auto known = constants_.find(value.constant.get());
  if (known != constants_.end()) return known->second;
  const ValueId id =
      graph_.add_constant(graph_.unique_name(to_text(prefix, value.name)), value.constant);
  constants_.emplace(value.constant.get(), id);
  return id;
}

std::vector<NodeId> Inliner::copy(const Graph& body, std::span<const ValueId> inputs,
                                  std::span<const ValueId> outputs, std::string_view prefix) {
  std::vector<NodeId> added;
  IdMap<ValueId, std::optional<ValueId>> copies(body.value_limit());
  for (std::size_t i = 0; i < inputs.size(); ++i) copies[body.inputs()[i]] = inputs[i];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = body.outputs()[i];
    if (outputs[i] != kNoValue && body.value(id).producer != kNoNode) copies[id] = outputs[i];
  }
  const auto mapped = [&](ValueId id) {
    if (id == kNoValue) return kNoValue;
    std::optional<ValueId>& copy = copies[id];
    if (copy) return *copy;
    const Value& value = body.value(id);
    if (value.constant != nullptr) {
      copy = copy_constant(value, prefix);
    } else {
      copy = graph_.add_value(graph_.unique_name(to_text(prefix, value.name)));
      graph_.declare(*copy, value.dtype, value.shape);
    }
    return *copy;
  };
  for (const NodeId id : body.nodes()) {
    Node node = body.node(id);
    if (!node.name.empty()) node.name = to_text(prefix, node.name);
    for (ValueId& input : node.inputs) input = mapped(input);
    for (ValueId& output : node.outputs) output = mapped(output);
    added.push_back(graph_.add_node(std::move(node)));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId copy = outputs[i] == kNoValue ? kNoValue : mapped(body.outputs()[i]);
    if (copy != outputs[i]) added.push_back(add_op(graph_, "Identity", {copy}, outputs[i]));
  }
  return added;
}

KnownValue known_of(const Graph& graph, ValueId id) {
  KnownValue known;
  if (id == kNoValue) return known;
  const Value& value = graph.value(id);
  known.constant = value.constant;
  if (graph.is_input(id) || graph.is_constant(id)) known.dtype = value.dtype;
  if (graph.is_input(id)) {
    known.shape = value.shape;
  } else if (const auto rank = rank_of(graph, id)) {
    known.shape.emplace(static_cast<std::size_t>(*rank));
  }
  return known;
}

BoundGraph bind_inputs(const Graph& body, std::span<const KnownValue> known) {
  BoundGraph bound;
  Graph& graph = bound.graph;
  graph.info = body.info;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    const Value& value = body.value(body.inputs()[i]);
    if (known[i].constant != nullptr) {
      inputs.push_back(graph.add_constant(value.name, known[i].constant));
      continue;
    }
    const ValueId id = graph.add_value(value.name);
    graph.declare(id, known[i].dtype ? known[i].dtype : value.dtype,
                  known[i].shape ? known[i].shape : value.shape);
    graph.add_input(id);
    inputs.push_back(id);
    bound.inputs.push_back(i);
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : body.outputs()) {
    const Value& value = body.value(output);
    outputs.push_back(graph.add_value(graph.unique_name(value.name)));
    graph.declare(outputs.back(), value.dtype, value.shape);
    graph.add_output(outputs.back());
  }
  Inliner(graph).copy(body, inputs, outputs, "");
  graph.sort();
  return bound;
}

}  // namespace qtool
