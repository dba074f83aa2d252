#pragma once

#include <optional>

#include "qtool/graph/graph.h"

namespace qtool {

/// The number in a float32 constant with one element; std::nullopt for all other values and for
/// kNoValue.
std::optional<float> constant_float(const Graph& graph, ValueId id);

}  // namespace qtool
