#include <string>
#include <utility>
#include <vector>

#include "pipeline/making.h"
#include "qtool/pipeline/calibrate.h"

namespace qtool {

bool wants_calibrate(const Recipe& /*recipe*/) { return true; }

/// Observes the samples and decides the table; see calibrate().
void step_calibrate(Making& making) {
  const Recipe& recipe = making.recipe;
  CalibrateOptions options;
  options.target = recipe.target;
  options.types = recipe.types;
  options.rewrites = recipe.rewrites.value_or(std::vector<std::string>());
  options.overrides = recipe.overrides;
  options.method = recipe.method;
  options.method_options = recipe.method_options;
  options.collect = making.collect();
  CalibrationResult calibrated = calibrate(making.fp32, making.samples, options);
  making.report.bad = std::move(calibrated.collection.bad);
  making.inputs.table = std::move(calibrated.table);
}

}  // namespace qtool
