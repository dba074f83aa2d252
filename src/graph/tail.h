#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The nodes at the end of a network that cannot be planned: the data decides the shape of what
/// they make, or nothing runs them, or they follow from such a node.
struct Tail {
  std::vector<NodeId> roots;  ///< those that do not follow from another one
  /// By NodeId: the root that a node follows from, itself for a root; kNoNode or missing for the
  /// others.
  std::vector<NodeId> root_of;

  [[nodiscard]] NodeId root(NodeId id) const {
    const auto index = static_cast<std::size_t>(id);
    return index < root_of.size() ? root_of[index] : kNoNode;
  }
};

/// Shapes need not be known: what is computed from the shapes of tensors counts as known. Cost:
/// linear in the graph.
Tail find_tail(const Graph& graph);

/// Removes the tail and makes what it read of the rest the graph's outputs, under the names that
/// these tensors have in the FP32 network. Nothing happens when there is no tail, when it
/// multiplies with weights, so that a part of the network itself would be lost, or when nothing
/// would be left.
std::optional<LeftOut> cut_tail(Graph& graph);

}  // namespace qtool
