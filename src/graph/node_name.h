#pragma once

#include <string_view>
#include <unordered_map>

#include "qtool/graph/graph.h"

namespace qtool {

/// The first output of a node that is not left out, or kNoValue when none is connected.
ValueId first_output(const Node& node) noexcept;

/// The name of a node in messages, tables and patterns: its own name, or the name of its first
/// output; empty when it has neither.
std::string_view name_of(const Graph& graph, NodeId id);

/// The nodes by their name_of(); the first one of each name. `graph` must outlive the result.
std::unordered_map<std::string_view, NodeId> nodes_by_name(const Graph& graph);

}  // namespace qtool
