#include <utility>

#include "on_images/sequential_correction.h"
#include "pipeline/making.h"

namespace qtool {

bool wants_correct_biases(const Recipe& recipe) {
  return recipe.bias_correction == BiasCorrection::kSequential;
}

/// Biases by what quantizing does to the outputs of layers; see sequential_bias_shifts().
void step_correct_biases(Making& making) {
  ShiftsOnImages measured =
      sequential_bias_shifts(*making.fp32, making.inputs.table, making.inputs.options,
                             making.inputs.learned, *making.samples, making.collect());
  making.report.bad = std::move(measured.bad);
  making.inputs.learned.bias_shifts = std::move(measured.shifts);
}

}  // namespace qtool
