#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/element_functions.h"
#include "graph/id_map.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"

namespace qtool {

/// Why a node that --exclude names stays in FP32.
inline constexpr std::string_view kExcluded = "excluded by --exclude";
/// Why a function stays in FP32 that would run inside a product.
inline constexpr std::string_view kProductInFloat = "what it follows stays in FP32";

/// Which nodes run inside others, with no pair in between.
struct Fusions {
  IdMap<NodeId, NodeId> fused_into;  ///< of such a node: the node it runs inside of
  IdMap<NodeId, NodeId> activation;  ///< the node that computes the result of what runs inside
  IdMap<NodeId, ValueId> residual;   ///< of an Add: the operand whose producer it is fused into
  /// Of a product, or of the last node of a function inside it: the Add that is fused into it.
  IdMap<NodeId, NodeId> adder;
  IdMap<NodeId, std::int32_t> function;  ///< the index of the function of a node, -1 for none
  IdMap<NodeId, char> inner;             ///< whether it belongs to one of `inner_functions`
  std::vector<ElementFunction> inner_functions;  ///< see Target::function_producers
};

/// Finds them among the nodes that run on integers, those whose text in `refusal` is empty. Clears
/// the text of nodes that run inside of others. `functions`: the result of smooth_functions();
/// those that remain run as tables, and Fusions::function has their indices. Cost: linear in the
/// graph.
Fusions find_fusions(const Graph& graph, const Target& target, IdMap<NodeId, std::string>& refusal,
                     std::vector<ElementFunction>& functions);

}  // namespace qtool
