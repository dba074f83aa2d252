#pragma once

#include <optional>
#include <vector>

#include "graph/passes/expand_subgraphs.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Replaces a Scan by a Loop and by nodes that move the axis and reverse the direction of its
/// outputs where the Scan demands it. The body of the Loop captures the scan inputs and takes one
/// slice of each per iteration. Returns the new nodes, unsorted, except that the Loop is first.
/// Returns std::nullopt while the length of the scan inputs or the axes of the scan outputs are
/// unknown. The Scan is disconnected. Throws Error(kInvalidModel) when node and body do not fit or
/// when the Scan runs more than kMaxTrips times.
std::optional<std::vector<NodeId>> scan_to_loop(Graph& graph, NodeId id, const ExpandTools& tools);

}  // namespace qtool
