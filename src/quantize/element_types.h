#pragma once

#include <optional>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The element type of every value, by ValueId; nothing where an unknown operator produced it.
/// Declared types override the rules of ONNX's operators.
std::vector<std::optional<DType>> element_types(const Graph& graph);

}  // namespace qtool
