#include "graph/edit.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

void disconnect(Graph& graph, NodeId id) {
  graph.truncate_inputs(id, 0);
  graph.truncate_outputs(id, 0);
}

bool is_gone(const Graph& graph, NodeId id) {
  return !graph.contains(id) || graph.node(id).outputs.empty();
}

NodeId add_op(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs, ValueId output,
              Node::AttributeMap attributes) {
  Node node;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  node.attributes = std::move(attributes);
  return graph.add_node(std::move(node));
}

ValueId add_named(Graph& graph, std::string_view prefix, std::string_view name) {
  return graph.add_value(graph.unique_name(to_text(prefix, name)));
}

void add_height(const Node& node, Node::AttributeMap& attributes) {
  const auto extents_of = [&](std::string_view name, std::size_t count) {
    std::vector<std::int64_t> extents = node.get_ints(name, {});
    // An empty list means the defaults, as no list does.
    if (extents.empty() || extents.size() == count) return extents;
    throw Error(ErrorCode::kInvalidModel,
                to_text("node '", node.name, "' (", node.op_type, "): attribute '", name, "' has ",
                        extents.size(), " integers, expected ", count));
  };
  for (const auto& [name, fill] : {std::pair("kernel_shape", 1),
                                   {"strides", 1},
                                   {"dilations", 1},
                                   {"output_padding", 0},
                                   {"output_shape", 1}}) {
    const std::vector<std::int64_t> extents = extents_of(name, 1);
    if (!extents.empty()) attributes[name] = std::vector<std::int64_t>{fill, extents[0]};
  }
  const std::vector<std::int64_t> pads = extents_of("pads", 2);
  if (!pads.empty()) attributes["pads"] = std::vector<std::int64_t>{0, pads[0], 0, pads[1]};
}

ValueId add_ints(Graph& graph, std::string_view name, const std::vector<std::int64_t>& numbers) {
  return graph.add_constant(graph.unique_name(name),
                            Tensor::of<std::int64_t>({std::ssize(numbers)}, std::span(numbers)));
}

void add_alias(Graph& graph, const std::string& gone, const std::string& surviving) {
  graph.info.aliases[gone] = surviving;
}

void close_aliases(Graph& graph) {
  auto& aliases = graph.info.aliases;
  for (auto& [gone, surviving] : aliases) {
    // Walks to the end of the chain, then makes every alias on the way name the last tensor. So
    // each link is visited once.
    std::vector<std::string*> way;
    std::string* last = &surviving;
    for (auto next = aliases.find(*last); next != aliases.end(); next = aliases.find(*last)) {
      way.push_back(last);
      last = &next->second;
    }
    for (std::string* link : way) *link = *last;
  }
}

}  // namespace qtool
