#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/id_map.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The nodes at the end of a network that cannot be planned: the shape of their results depends on
/// the data, or qtool does not run their operator, or they depend on such a node.
struct Tail {
  std::vector<NodeId> roots;  ///< nodes of the tail that depend on no other node of it
  /// The root that a node depends on; for a root, the root itself. kNoNode or missing for nodes
  /// outside the tail.
  IdMap<NodeId, NodeId> root_of;

  [[nodiscard]] NodeId root(NodeId id) const {
    return root_of.contains(id) ? root_of[id] : kNoNode;
  }
};

/// Finds the tail of a graph. Shapes need not be known: values that are computed only from the
/// shapes of tensors count as known. Cost: linear in the graph.
Tail find_tail(const Graph& graph);

/// Removes the tail of a graph. The tensors that the tail reads from the rest of the network become
/// outputs, under the names that they have in the FP32 network. Returns std::nullopt and changes
/// nothing in these cases: there is no tail, it produces no output of the graph, it multiplies with
/// weights (a trained part of the network would be lost), or no output would be left.
std::optional<LeftOut> cut_tail(Graph& graph);

}  // namespace qtool
