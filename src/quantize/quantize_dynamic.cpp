// Quantization of products that measure their input while running.
#include "qtool/quantize/quantize.h"
#include "quantize/operands.h"
#include "quantize/rounding.h"
#include "quantize/without_table.h"

namespace qtool {

Quantized quantize(const Graph& prepared, const DynamicOptions& options) {
  const Target target = chosen_target(options.target, options.weights);
  const RoundingInfo& rounding = find_rounding(options.rounding);
  require_float_graph(prepared);
  Quantized quantized;
  quantized.report.target = options.target;
  quantized.report.non_finite = non_finite_weights(prepared);
  const Placement placement = place_products(prepared, target, options.exclude);
  const auto stages = [&](NodeId node, const WeightPorts& ports) {
    return stage_weights(prepared, target, node, ports, rounding, options.threads);
  };
  quantized.graph = emit_dynamic(prepared, placement, stages, quantized.report);
  finish_without_table(prepared, placement, options, QuantizeMode::kDynamic, quantized);
  return quantized;
}

}  // namespace qtool
