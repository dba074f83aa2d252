#pragma once

#include <cstddef>

#include "qtool/graph/graph.h"

namespace qtool {

/// The place of a value or node in a vector that holds one element for each of them.
constexpr std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace qtool
