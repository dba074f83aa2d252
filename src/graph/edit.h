#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"

// Edits of a graph that several passes share.
namespace qtool {

/// Disconnects all inputs and outputs of a node. The node stays in the graph until
/// Graph::remove_dead_nodes() removes it, so that a pass that walks a list of the nodes can still
/// read it.
void disconnect(Graph& graph, NodeId id);

/// Whether a node was removed, or was disconnected by disconnect().
[[nodiscard]] bool is_gone(const Graph& graph, NodeId id);

/// Adds a node with one output at the end of the order.
NodeId add_op(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs, ValueId output,
              Node::AttributeMap attributes = {});

/// Adds a value whose name is `prefix` followed by `name`, and by a number if that name is taken.
ValueId add_named(Graph& graph, std::string_view prefix, std::string_view name);

/// Adds a constant with one axis that holds `numbers`.
ValueId add_ints(Graph& graph, std::string_view name, const std::vector<std::int64_t>& numbers);

/// Writes the attributes of a convolution or pool over one axis for images of one row, whose height
/// is the axis in front of it. Throws Error(kInvalidModel) for extents of another number of axes.
void add_height(const Node& node, Node::AttributeMap& attributes);

/// Records in info.aliases that `surviving` took the place of the tensor `gone`; a pass that may
/// remove a surviving tensor later must end with close_aliases().
void add_alias(Graph& graph, const std::string& gone, const std::string& surviving);

/// Follows every chain of aliases and makes each alias name the last tensor of its chain.
void close_aliases(Graph& graph);

}  // namespace qtool
