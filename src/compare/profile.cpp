#include "qtool/compare/profile.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "compare/crossings.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "exec/plan.h"
#include "exec/step_of.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kWarmUps = 3;

/// Times of one model, one entry per timed run.
struct Times {
  std::vector<double> runs;
  std::vector<std::vector<double>> steps;
};

PlanProfile summarize(const Plan& plan, const Graph& graph, Times samples) {
  PlanProfile profile;
  profile.fastest_seconds = *std::ranges::min_element(samples.runs);
  const MedianInterval whole = median_interval(std::move(samples.runs));
  profile.median_seconds = whole.median;
  profile.low_seconds = whole.low;
  profile.high_seconds = whole.high;
  profile.arena_bytes = plan.arena_bytes();
  std::vector<StepInfo> steps = named_steps(plan.steps(), graph);
  profile.crossings = crossings_of(steps, graph);
  const std::vector<std::int64_t> bytes = PlanBuilder::moved_bytes(plan);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MedianInterval time = median_interval(std::move(samples.steps[i]));
    profile.steps.push_back({std::move(steps[i]), time.median, time.low, time.high, bytes[i]});
  }
  return profile;
}

}  // namespace

ProfileResult profile(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
                      const ProfileOptions& options) {
  check_repeat(options.repeat);
  ProfileResult result;
  result.threads = resolve_threads(options.threads);
  result.repeat = options.repeat;
  result.batch = batch_of(shapes_of(sample));
  result.peak = machine_peak(result.threads);
  const ModelPair pair = compile_pair(fp32, int8, shapes_of(sample), result.threads);

  const std::vector<TensorView> inputs = views_of(sample);
  std::array<Workspace, 2> workspaces;
  std::array<Times, 2> samples;
  for (std::int64_t run = -kWarmUps; run < options.repeat; ++run) {
    for (std::size_t m = 0; m < static_cast<std::size_t>(pair.models()); ++m) {
      const Plan& plan = pair.plan(static_cast<std::int64_t>(m));
      const Clock::time_point start = Clock::now();
      plan.run(inputs, workspaces[m]);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      std::vector<double> step_seconds(plan.steps().size());
      plan.run_timed(inputs, workspaces[m], step_seconds);
      if (run < 0) continue;  // warming up
      samples[m].runs.push_back(seconds);
      samples[m].steps.resize(step_seconds.size());
      for (std::size_t i = 0; i < step_seconds.size(); ++i) {
        samples[m].steps[i].push_back(step_seconds[i]);
      }
    }
    const std::int64_t done = std::max<std::int64_t>(run + 1, 0);
    report_progress(options.progress, done, options.repeat, "measurement", "runs");
  }
  result.fp32 = summarize(*pair.fp32, fp32.graph(), std::move(samples[0]));
  if (pair.int8 != nullptr) {
    result.int8 = summarize(*pair.int8, int8->graph(), std::move(samples[1]));
  }
  return result;
}

}  // namespace qtool
