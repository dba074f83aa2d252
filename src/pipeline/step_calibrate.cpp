#include <utility>

#include "pipeline/making.h"
#include "qtool/exec/executor.h"

namespace qtool {

CalibrateOptions calibrate_options(const Recipe& recipe, const MakeOptions& options) {
  CalibrateOptions calibrate;
  calibrate.target = recipe.target;
  calibrate.types = recipe.types;
  calibrate.rewrites = recipe.rewrites.value_or(std::vector<std::string>());
  calibrate.overrides = recipe.overrides;
  calibrate.method = recipe.method;
  calibrate.method_options = recipe.method_options;
  calibrate.collect.preprocess = options.preprocess;
  calibrate.collect.bad_images = options.bad_images;
  calibrate.collect.threads = options.threads;
  calibrate.collect.model_fingerprint = options.model_fingerprint;
  return calibrate;
}

bool wants_calibrate(const Recipe& /*recipe*/) { return true; }

/// Observes the samples and decides the table; see calibrate().
void step_calibrate(Making& making) {
  CalibrateOptions options = calibrate_options(making.recipe, making.options);
  options.collect = making.collect();
  CalibrationResult calibrated = calibrate(making.fp32, making.samples, options);
  making.report.bad = std::move(calibrated.collection.bad);
  making.inputs.table = std::move(calibrated.table);
}

}  // namespace qtool
