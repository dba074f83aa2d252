#pragma once

#include <optional>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The constant scales and zero points of a QuantizeLinear or DequantizeLinear. nullopt where they
/// are computed at run time or belong to blocks.
std::optional<Affines> stored_affines(const Graph& graph, const Node& node);

}  // namespace qtool
