#pragma once

#include <memory>

#include "qtool/graph/graph.h"

namespace qtool {

/// The tensor that a node Constant stands for, or null when it holds no number: strings, or an
/// attribute of the wrong type.
std::shared_ptr<const Tensor> tensor_of_constant(const Node& node);

}  // namespace qtool
