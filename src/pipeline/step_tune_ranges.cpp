#include <utility>

#include "pipeline/making.h"
#include "qtool/base/error.h"
#include "qtool/on_images/tune_ranges.h"

namespace qtool {

bool wants_tune_ranges(const Recipe& recipe) { return recipe.tune_ranges; }

/// Ranges by what they do to the outputs; see qtool::tune_ranges(). Half of the budget at most.
void step_tune_ranges(Making& making) {
  constexpr double kShare = 0.5;
  const auto is_stopped = [&] { return making.options.stop && making.options.stop(); };
  SampleRunOptions run;
  run.preprocess = making.options.preprocess;
  run.bad_images = making.options.bad_images;
  run.threads = making.options.threads;
  run.progress = making.progress;
  run.stop = [&] { return is_stopped() || making.is_over(kShare); };
  try {
    RangeTuning tuned = tune_ranges(*making.fp32, making.inputs.table, making.inputs.options,
                                    making.inputs.learned, *making.samples, run);
    making.report.bad = tuned.bad;
    making.inputs.learned.tuned_ranges = tuned.ranges;
    making.report.tuning = std::move(tuned);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled || is_stopped() || !making.is_over(kShare)) throw;
    making.report.tuning_ran_out_of_time = true;
  }
}

}  // namespace qtool
