#pragma once

#include <optional>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// Constant scales and zero points of a QuantizeLinear or DequantizeLinear; nothing where they are
/// computed at run time, or stand for blocks.
std::optional<Affines> stored_affines(const Graph& graph, const Node& node);

}  // namespace qtool
