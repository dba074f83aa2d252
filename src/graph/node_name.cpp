#include "graph/node_name.h"

#include <algorithm>

namespace qtool {

ValueId first_output(const Node& node) noexcept {
  const auto found = std::find_if(node.outputs.begin(), node.outputs.end(),
                                  [](ValueId output) { return output != kNoValue; });
  return found == node.outputs.end() ? kNoValue : *found;
}

std::string_view name_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.name.empty()) return node.name;
  const ValueId output = first_output(node);
  return output == kNoValue ? std::string_view() : std::string_view(graph.value(output).name);
}

std::unordered_map<std::string_view, NodeId> nodes_by_name(const Graph& graph) {
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId id : graph.nodes()) nodes.emplace(name_of(graph, id), id);
  return nodes;
}

}  // namespace qtool
