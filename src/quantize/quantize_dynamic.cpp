// Quantization of products that measure their input while running.
#include "quantize/without_table.h"

namespace qtool {

Quantized quantize(const Graph& prepared, const DynamicOptions& options,
                   const CalibrationTable* means) {
  return quantize_without_table(
      prepared, QuantizeMode::kDynamic, options, options.weights, means,
      [&](Placement& placement, const LayerStages& stages, QuantizeReport& report) {
        return emit_dynamic(prepared, placement, stages, options.lstm, report);
      });
}

}  // namespace qtool
