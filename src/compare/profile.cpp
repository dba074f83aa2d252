#include "qtool/compare/profile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compare/alternating_runs.h"
#include "compare/crossings.h"
#include "compare/metrics.h"
#include "exec/plan.h"
#include "exec/step_of.h"

namespace qtool {
namespace {

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
  AlternatingRuns runs(fp32, int8, sample, options.threads, options.repeat);
  const ModelPair& pair = runs.pair();
  ProfileResult result;
  result.threads = runs.threads();
  result.repeat = options.repeat;
  result.batch = batch_of(shapes_of(sample));
  result.peak = machine_peak(result.threads);
  std::array<Times, 2> samples;
  runs.run(kWarmUps, options.progress, [&](std::size_t model, bool counts) {
    const double took = runs.run_once(model);
    std::vector<double> step_seconds(runs.plan(model).steps().size());
    runs.run_steps(model, step_seconds);
    if (!counts) return;
    Times& times = samples[model];
    times.runs.push_back(took);
    times.steps.resize(step_seconds.size());
    for (std::size_t i = 0; i < step_seconds.size(); ++i) {
      times.steps[i].push_back(step_seconds[i]);
    }
  });
  result.fp32 = summarize(*pair.fp32, fp32.graph(), std::move(samples[0]));
  if (pair.int8 != nullptr) {
    result.int8 = summarize(*pair.int8, int8->graph(), std::move(samples[1]));
  }
  return result;
}

}  // namespace qtool
