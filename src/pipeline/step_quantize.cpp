#include "pipeline/making.h"

namespace qtool {

bool wants_quantize(const Recipe& /*recipe*/) { return true; }

/// Emits the model in the mode of the recipe; see quantize(). It holds the nodes that an executor
/// leaves out, too.
void step_quantize(Making& making) {
  const Recipe& recipe = making.recipe;
  const StaticInputs& inputs = making.inputs;
  if (recipe.mode == QuantizeMode::kStatic) {
    making.int8 = quantize(making.prepared, inputs);
    return;
  }
  const bool has_table = inputs.table != CalibrationTable();
  const bool corrects = recipe.bias_correction != BiasCorrection::kOff;
  const CalibrationTable* means = has_table && corrects ? &inputs.table : nullptr;
  const QuantizeOptions& common = inputs.options;
  const WeightChoices weights{recipe.types.weight_bits, recipe.types.weight_method,
                              recipe.types.weight_pairs};
  if (recipe.mode == QuantizeMode::kDynamic) {
    making.int8 =
        quantize(making.prepared, DynamicOptions{common, weights, recipe.dynamic_lstm}, means);
  } else {
    making.int8 = quantize(making.prepared, WeightOnlyOptions{common, weights}, means);
  }
}

}  // namespace qtool
