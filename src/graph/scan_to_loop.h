#pragma once

#include <optional>
#include <vector>

#include "graph/expand_subgraphs.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Puts a Loop, and what turns its outputs, in the place of a Scan: its body takes its slices out
/// of the scan inputs, which it captures. Returns the new nodes, the Loop first, unsorted; nothing
/// while the length of the scan inputs or the axes of the scan outputs are unknown. The Scan loses
/// its outputs. Throws Error(kInvalidModel) when node and body do not fit.
std::optional<std::vector<NodeId>> scan_to_loop(Graph& graph, NodeId id, const ExpandTools& tools);

}  // namespace qtool
