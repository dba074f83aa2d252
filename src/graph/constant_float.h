#pragma once

#include <optional>

#include "qtool/graph/graph.h"

namespace qtool {

/// The number behind `id` when that is a float32 constant of one element; nothing otherwise, and
/// for kNoValue.
std::optional<float> constant_float(const Graph& graph, ValueId id);

}  // namespace qtool
