#pragma once

#include <string_view>

#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// Stores `affine` under `<prefix>_scale` and `<prefix>_zero_point`, and reads it back.
void set_affine(Graph& graph, NodeId id, std::string_view prefix, const Affine& affine);
Affine get_affine(const Node& node, std::string_view prefix);

}  // namespace qtool
