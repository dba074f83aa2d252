#pragma once

#include <optional>
#include <vector>

#include "lower/specialize.h"

namespace qtool {

/// The QConv or QGemm whose result is the real tensor `id`; nothing if there is none, or if another
/// node than `readers` reads the tensor, or the user does.
std::optional<NodeId> real_product(const ShapedGraph& shaped, ValueId id,
                                   const std::vector<NodeId>& readers);

}  // namespace qtool
