#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The number of axes of a value, from its declaration or from the operators that make it; nothing
/// when these do not tell. Enough for opset upgrades; the executor infers whole shapes.
std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id);

/// Whether the axes of a reduction, as the node has them, are all but the first two of `rank`: the
/// pixels of each channel.
bool averages_pixels(std::vector<std::int64_t> axes, std::int64_t rank);

}  // namespace qtool
