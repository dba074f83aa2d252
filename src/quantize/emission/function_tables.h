#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/element_functions.h"
#include "graph/tail.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The functions of one element that a target may run as one table each: what they compute changes
/// slowly with the element, so that 256 values of it say all. A single node that the target lists
/// anyway is not among them. `types`: the result of element_types(); `fixed`: see
/// values_from_constants().
std::vector<ElementFunction> functions_as_tables(const Graph& graph, const Target& target,
                                                 std::span<const std::optional<DType>> types,
                                                 const Tail& tail, std::span<const char> fixed);

/// Removes the function that consists of `id` alone. False, and nothing is removed, where `id` is
/// part of a larger one.
bool take_out_alone(std::vector<ElementFunction>& functions, NodeId id);

}  // namespace qtool
