#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The most axes that a tensor may have: as many as NumPy and PyTorch allow, while networks have up
/// to 8. Every value holds its extents, so that a chain of nodes that add an axis each would take
/// memory in proportion to the square of its length. With 64 axes a value takes 3 KiB at most.
inline constexpr std::int64_t kMaxRank = 64;

/// What errors say of a tensor with more: `has 65 axes, expected at most 64`.
std::string too_many_axes(std::int64_t axes);

/// The number of axes of a value, from its declaration or from the operators that make it; nothing
/// when these do not tell or it would be more than kMaxRank. Enough for opset upgrades; the
/// executor infers whole shapes.
std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id);

/// Whether the axes of a reduction, as the node has them, are all but the first two of `rank`: the
/// pixels of each channel.
bool averages_pixels(std::vector<std::int64_t> axes, std::int64_t rank);

}  // namespace qtool
