// Quantization of products that measure their input while running.
#include "quantize/without_table.h"

namespace qtool {

Quantized quantize(const Graph& prepared, const DynamicOptions& options) {
  return quantize_without_table(
      prepared, QuantizeMode::kDynamic, options, options.weights,
      [&](Placement& placement, const LayerStages& stages, QuantizeReport& report) {
        return emit_dynamic(prepared, placement, stages, report);
      });
}

}  // namespace qtool
