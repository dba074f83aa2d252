#include <utility>

#include "pipeline/making.h"
#include "qtool/pipeline/calibrate.h"

namespace qtool {

bool wants_calibrate(const Recipe& /*recipe*/) { return true; }

/// Observes the samples and decides the table; see calibrate().
void step_calibrate(Making& making) {
  CalibrateOptions options = calibrate_options(making.recipe);
  options.collect = making.collect();
  options.stop = making.options.stop;
  CalibrationResult calibrated = calibrate(*making.fp32, *making.samples, options);
  making.report.doubt = doubtful(calibrated.collection);
  making.report.bad = std::move(calibrated.collection.bad);
  making.report.pairs = calibrated.pairs;
  making.inputs.table = std::move(calibrated.table);
}

}  // namespace qtool
