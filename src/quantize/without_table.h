#pragma once

#include <functional>

#include "qtool/quantize/quantize.h"
#include "quantize/emission/emit.h"

namespace qtool {

/// Writes the graph of one mode. `placement` names the products that can run on integers; all other
/// nodes stay FP32. The function updates `placement` where it departs from it. Adds its counts to
/// `report`.
using EmitWithoutTable =
    std::function<Graph(Placement& placement, const LayerStages& stages, QuantizeReport& report)>;

/// Quantizes without a calibration table. The dynamic and the weight-only mode differ only in
/// `emit`. Chooses target and placement, takes each layer through the stages (symmetric scales per
/// output channel; input and bias stay real), and writes report and metadata.
/// `means`: a table with the channel means of the layers' inputs. If it is null, no bias is
/// corrected.
Quantized quantize_without_table(const Graph& prepared, QuantizeMode mode,
                                 const QuantizeOptions& options, const WeightChoices& weights,
                                 const CalibrationTable* means, const EmitWithoutTable& emit);

}  // namespace qtool
