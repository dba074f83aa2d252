#pragma once

#include <cstddef>

#include "qtool/graph/graph.h"

namespace qtool {

/// The index of a value or node in a vector that holds one element per value or node.
constexpr std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }
constexpr std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace qtool
