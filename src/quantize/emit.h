#pragma once

#include "quantize/maps.h"

namespace qtool {

/// The scales of a weight that the caller wants instead of the largest magnitude; empty for none.
using GivenScales = std::function<std::vector<float>(std::string_view weight)>;

/// Writes the decision into the graph: a QuantizeLinear/DequantizeLinear pair behind each quantized
/// tensor, int8 weights and int32 biases behind a DequantizeLinear each, u8 constants likewise.
/// Counts go into `report`.
Graph emit_qdq(const Graph& graph, const Placement& placement, const Target& target,
               const ChosenMaps& maps, const GivenScales& given, QuantizeReport& report);

}  // namespace qtool
