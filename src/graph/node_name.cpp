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

}  // namespace qtool
