#pragma once

#include <string>

#include "qtool/graph/graph.h"

// What passes do to a graph again and again.
namespace qtool {

/// Takes a node out of the flow: it reads and writes nothing any more. It stays listed until
/// Graph::remove_dead_nodes(), which drops many at the price that Graph::remove_node() takes for
/// one.
void disconnect(Graph& graph, NodeId id);

/// Whether disconnect() was called for a node that is still listed, or remove_node().
[[nodiscard]] bool is_gone(const Graph& graph, NodeId id);

/// Records in info.aliases that `surviving` took the place of the tensor `gone`; a pass that lets
/// one survivor go after the other ends with close_aliases().
void add_alias(Graph& graph, const std::string& gone, const std::string& surviving);

/// Makes every alias name the last survivor of its chain.
void close_aliases(Graph& graph);

}  // namespace qtool
