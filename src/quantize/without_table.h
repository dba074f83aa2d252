#pragma once

#include <functional>

#include "qtool/quantize/quantize.h"
#include "quantize/emit.h"

namespace qtool {

/// Writes the graph of one mode. `placement` says where products can run on integers, everything
/// else is FP32; a mode may change it to what it really does. Counts go into `report`.
using EmitWithoutTable =
    std::function<Graph(Placement& placement, const LayerStages& stages, QuantizeReport& report)>;

/// What the modes share that need no calibration table: target, placement, the stages of a layer
/// whose input and bias stay real (symmetric scales per output channel), report and metadata.
Quantized quantize_without_table(const Graph& prepared, QuantizeMode mode,
                                 const QuantizeOptions& options, const WeightChoices& weights,
                                 const EmitWithoutTable& emit);

}  // namespace qtool
