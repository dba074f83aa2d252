#pragma once

#include <optional>

#include "graph/id_map.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The element type of every value; nothing if an unknown operator produced it.
using ElementTypes = IdMap<ValueId, std::optional<DType>>;

/// The element types of a graph's values. Declared types override the rules of ONNX's operators.
ElementTypes element_types(const Graph& graph);

/// Whether a node writes floating-point numbers, or values of an unknown type. `types`: the result
/// of element_types() for its graph.
bool computes_reals(const Node& node, const ElementTypes& types);

}  // namespace qtool
