#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qtool/quantize/weights.h"
#include "quantize/maps.h"

namespace qtool {

/// The scales that the caller wants for the weight of a node instead of the largest magnitude;
/// empty for none.
using GivenScales = std::function<std::vector<float>(const WeightPorts& ports, NodeId node)>;

/// The FP32 mean of each input channel of an activation, for bias correction; empty: unknown.
using ChannelMeans = std::function<std::span<const float>(ValueId activation)>;

/// Scales of the weight of `node` whose input has the scale `input_scale`, biases fitting.
std::vector<float> choose_weight_scales(const Graph& graph, NodeId node, const WeightPorts& ports,
                                        const Target& target, float input_scale,
                                        const GivenScales& given);

/// Writes the decision into the graph: a QuantizeLinear/DequantizeLinear pair behind each quantized
/// tensor, int8 weights and int32 biases behind a DequantizeLinear each, u8 constants likewise.
/// Where `means` knows the input of a layer, its bias (made if it has none) takes back what
/// quantizing the weights adds to the mean output. Counts go into `report`.
Graph emit_qdq(const Graph& graph, const Placement& placement, const Target& target,
               const ChosenMaps& maps, const GivenScales& given, const ChannelMeans& means,
               QuantizeReport& report);

}  // namespace qtool
