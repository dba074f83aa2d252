#pragma once

#include <string>

#include "graph/id_map.h"
#include "graph/tail.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "quantize/placement/element_types.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

// Why a node stays in FP32. The target does not list its operator (targets/ops_by_target.inc), or
// an integer kernel refuses it (here). The user excludes it, a tensor has no range, or nothing
// around it runs on integers (placement.cpp). It is a function of a tensor that keeps 16 bits
// (wide_tensors.cpp). Or the compiled plan runs it so, whatever was planned (follow_plan.cpp).

/// Why a node cannot run on integers, whatever the ranges are: because of its operator, its
/// operands, or a node before it that qtool does not run. A phrase; empty if the node can run on
/// integers. `types`: the result of element_types().
std::string refuse_node(const Graph& graph, NodeId id, const Target& target,
                        const ElementTypes& types, const Tail& tail);

/// Whether a layer without a bias can get one (int32, with a scale per channel) without making the
/// model larger. Integers and scales that take up to 400 bytes per tensor more than the FP32
/// weights are accepted.
bool has_room_for_bias(const Node& node, const WeightPorts& ports, const Target& target);

/// Why a node that reads a value computed from constants alone cannot run on integers; empty for
/// other nodes. Constant folding leaves such a value in the graph if it would be larger than the
/// inputs. A plan computes it once when it is compiled, so calibration does not observe its range.
/// `fixed`: the result of values_from_constants().
std::string refuse_fixed(const Graph& graph, NodeId id, const IdMap<ValueId, char>& fixed);

}  // namespace qtool
