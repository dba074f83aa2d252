#pragma once

#include <memory>

#include "qtool/graph/graph.h"

namespace qtool {

/// The tensor of a Constant node; null when the node holds no numbers, for example strings. Throws
/// Error(kInvalidModel) when the attribute `value`, `value_float`, `value_int` or `value_ints` has
/// the wrong type.
std::shared_ptr<const Tensor> tensor_of_constant(const Node& node);

}  // namespace qtool
