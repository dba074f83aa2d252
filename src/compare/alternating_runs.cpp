#include "compare/alternating_runs.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

std::int64_t checked(std::int64_t repeat) {
  check_repeat(repeat);
  return repeat;
}

}  // namespace

AlternatingRuns::AlternatingRuns(const Executor& fp32, const Executor* int8,
                                 std::span<const Tensor> sample, int threads, std::int64_t repeat,
                                 Requantization requantization)
    : threads_(resolve_threads(threads)),
      repeat_(checked(repeat)),
      pair_(compile_pair(fp32, int8, shapes_of(sample), threads_, requantization)),
      inputs_(views_of(sample)) {}

void AlternatingRuns::run(std::int64_t warm_ups, const Progress& progress,
                          const std::function<void(std::size_t model, bool counts)>& turn) {
  for (std::int64_t run = -warm_ups; run < repeat_; ++run) {
    for (std::int64_t model = 0; model < pair_.models(); ++model) {
      turn(static_cast<std::size_t>(model), run >= 0);
    }
    const std::int64_t done = std::max<std::int64_t>(run + 1, 0);
    report_progress(progress, done, repeat_, "measurement", "runs");
  }
}

double AlternatingRuns::run_once(std::size_t model) {
  const Stopwatch run;
  outputs_.at(model) = plan(model).run(inputs_, workspaces_.at(model));
  return run.seconds();
}

void AlternatingRuns::run_steps(std::size_t model, std::span<double> seconds) {
  outputs_.at(model) = plan(model).run_timed(inputs_, workspaces_.at(model), seconds);
}

}  // namespace qtool
