#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The element type of every value, by ValueId; nothing if an unknown operator produced it.
/// Declared types override the rules of ONNX's operators.
std::vector<std::optional<DType>> element_types(const Graph& graph);

/// Whether a node writes floating-point numbers, or values of an unknown type. `types`: the result
/// of element_types() for its graph.
bool computes_reals(const Node& node, std::span<const std::optional<DType>> types);

}  // namespace qtool
