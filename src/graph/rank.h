#pragma once

#include <cstdint>
#include <optional>

#include "qtool/graph/graph.h"

namespace qtool {

/// The number of axes of a value, from its declaration or from the operators that make it; nothing
/// when these do not tell. Enough for opset upgrades; the executor infers whole shapes.
std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id);

}  // namespace qtool
