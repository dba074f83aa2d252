#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The maximum number of axes of a tensor. PyTorch and NumPy (since version 2) have the same limit;
/// networks use up to 8 axes. The limit is needed because every value stores its extents: a chain
/// of nodes that each add an axis would take memory proportional to the square of its length. With
/// 64 axes a value takes at most 3 KiB.
inline constexpr std::int64_t kMaxRank = 64;

/// The error text for a tensor with more axes: `has 65 axes, expected at most 64`.
std::string too_many_axes(std::int64_t axes);

/// The number of axes of a value, from its declaration or from the operators that produce it.
/// std::nullopt if these do not determine it or if it would exceed kMaxRank. This is enough for
/// opset upgrades; the executor infers whole shapes.
std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id);

/// Whether a reduction over `axes` of a tensor with `rank` axes covers all axes but the first two,
/// that is, the pixels of each channel. Axes may be negative, as in a node.
bool averages_pixels(std::vector<std::int64_t> axes, std::int64_t rank);

}  // namespace qtool
