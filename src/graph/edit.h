#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"

// Edits of a graph that several passes share.
namespace qtool {

/// Disconnects all inputs and outputs of a node. It stays listed until Graph::remove_dead_nodes(),
/// so that a pass that walks a list of the nodes can still ask for it.
void disconnect(Graph& graph, NodeId id);

/// Whether disconnect() was called for a node that is still listed, or remove_node().
[[nodiscard]] bool is_gone(const Graph& graph, NodeId id);

/// Adds a node of one output at the end of the order.
NodeId add_op(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs, ValueId output,
              Node::AttributeMap attributes = {});

/// A new value called `prefix` and `name`, with a number behind it where that is taken.
ValueId add_named(Graph& graph, std::string_view prefix, std::string_view name);

/// A new constant of one axis.
ValueId add_ints(Graph& graph, std::string_view name, const std::vector<std::int64_t>& numbers);

/// Records in info.aliases that `surviving` took the place of the tensor `gone`; a pass that may
/// remove a surviving tensor later must end with close_aliases().
void add_alias(Graph& graph, const std::string& gone, const std::string& surviving);

/// Makes every alias name the last survivor of its chain.
void close_aliases(Graph& graph);

}  // namespace qtool
