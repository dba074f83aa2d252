#pragma once

#include <vector>

#include "graph/element_functions.h"
#include "graph/id_map.h"
#include "graph/tail.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"
#include "quantize/placement/element_types.h"

namespace qtool {

/// The functions of one element that a target may run inside a product or as one table each. Their
/// results change slowly with the element, so a table for 256 values is enough. `types`: the result
/// of element_types(); `fixed`: see values_from_constants().
std::vector<ElementFunction> smooth_functions(const Graph& graph, const Target& target,
                                              const ElementTypes& types, const Tail& tail,
                                              const IdMap<ValueId, char>& fixed);

/// Removes the functions of a single node that the target runs better without a table.
void leave_out_single_nodes(const Target& target, const Graph& graph,
                            std::vector<ElementFunction>& functions);

/// Whether the target runs a function inside the product before it, see Target::function_producers.
/// No other node reads the result of the product then, and the function is the same for all
/// channels, but for a factor behind it, and for the slopes of a PRelu.
bool runs_inside_product(const Graph& graph, const Target& target, const ElementFunction& function);

/// Whether a function is a LeakyRelu or PRelu of the result of a convolution that is not depthwise,
/// with or without a factor per channel behind it. The convolution may add a shortcut to it then.
bool has_slopes(const Graph& graph, const ElementFunction& function);

/// Removes the function that consists of the node `id` alone, if there is one. Returns false, and
/// removes nothing, if `id` is part of a larger function.
bool take_out_alone(std::vector<ElementFunction>& functions, NodeId id);

}  // namespace qtool
