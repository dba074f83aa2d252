#include "graph/edit.h"

#include <algorithm>
#include <string>
#include <vector>

namespace qtool {

void disconnect(Graph& graph, NodeId id) {
  graph.truncate_inputs(id, 0);
  graph.truncate_outputs(id, 0);
}

bool is_gone(const Graph& graph, NodeId id) {
  return !graph.contains(id) || graph.node(id).outputs.empty();
}

NodeId node_behind(const Graph& graph, NodeId id) {
  const std::vector<NodeId>& order = graph.nodes();
  const auto next = std::find(order.begin(), order.end(), id) + 1;
  return next == order.end() ? kNoNode : *next;
}

void add_alias(Graph& graph, const std::string& gone, const std::string& surviving) {
  graph.info.aliases[gone] = surviving;
}

void close_aliases(Graph& graph) {
  auto& aliases = graph.info.aliases;
  for (auto& [gone, surviving] : aliases) {
    // Walks to the end of the chain, then sets every alias on the way to it: each link is visited
    // once.
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
