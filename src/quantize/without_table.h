#pragma once

#include "qtool/quantize/quantize.h"
#include "quantize/emit.h"
#include "quantize/rounding.h"

// What the modes share that need no calibration table.
namespace qtool {

/// Where products run on integers; everything else is FP32 in these modes.
Placement place_products(const Graph& graph, const Target& target,
                         std::span<const std::string> exclude);

/// The stages of a layer whose input and bias stay real: symmetric scales per output channel.
StagedLayer stage_weights(const Graph& graph, const Target& target, NodeId node,
                          const WeightPorts& ports, const RoundingInfo& rounding, int threads);

/// Names the nodes that multiply, and writes mode and provenance into the graph.
void finish_without_table(const Graph& prepared, const Placement& placement,
                          const QuantizeOptions& options, QuantizeMode mode, Quantized& quantized);

}  // namespace qtool
