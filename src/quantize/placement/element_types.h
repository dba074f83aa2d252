#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtool/graph/graph.h"

namespace qtool {

/// The element type of every value, by ValueId; nothing where an unknown operator produced it.
/// Declared types override the rules of ONNX's operators.
std::vector<std::optional<DType>> element_types(const Graph& graph);

/// Whether a node writes floating-point numbers, or what nothing is known of. `types`: of its
/// graph.
bool computes_reals(const Node& node, std::span<const std::optional<DType>> types);

}  // namespace qtool
