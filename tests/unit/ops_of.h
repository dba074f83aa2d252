#pragma once

#include <string>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The operators of the graph's nodes, in its order.
inline std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.nodes()) ops.push_back(graph.node(id).op_type);
  return ops;
}

}  // namespace qtool
