// The times of the models that Trials makes.

#include "analyze/suggest_trials.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "compare/model_pair.h"
#include "compare/race_plans.h"
#include "compare/sample_runs.h"
#include "qtool/exec/executor.h"
#include "samples/network_inputs.h"

namespace qtool {

std::vector<Tensor> Trials::first() const {
  return first_sample(samples_, options_.preprocess, options_.bad_images);
}

Trials::Seconds Trials::seconds_of_image() const {
  const Stopwatch reading;
  const std::vector<Tensor> sample =
      first_sample(samples_.unkept(), options_.preprocess, options_.bad_images);
  const std::vector<TensorView> inputs = views_of(sample);
  const double read = reading.seconds();
  const Stopwatch making;
  const std::unique_ptr<Executor> int8 = model({});
  const ModelPair pair = compile_pair(fp32_, int8.get(), shapes_, 1);
  const double make = making.seconds();
  const auto seconds_of = [&](const Plan& plan) {
    Workspace workspace;
    double last = 0.0;
    for (int run = 0; run < 2; ++run) {  // the first one warms up
      const Stopwatch once;
      plan.run(inputs, workspace);
      last = once.seconds();
    }
    return last;
  };
  Seconds seconds{seconds_of(*pair.fp32), 0.0, make, read};
  if (pair.int8 != nullptr) seconds.int8 = seconds_of(*pair.int8);
  return seconds;
}

std::vector<MedianInterval> Trials::slower(std::span<const Change> changes,
                                           double& base_seconds) const {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::shared_ptr<const Plan>> plans;
  const int threads = resolve_threads(options_.threads);
  const auto add = [&](const Change& change) {
    executors.push_back(model(change));
    plans.push_back(compile_pair(fp32_, executors.back().get(), shapes_, threads).int8);
  };
  add({});
  for (const Change& change : changes) add(change);
  const std::vector<Tensor> sample = first();
  const std::vector<TensorView> inputs = views_of(sample);
  std::vector<const Plan*> runners;
  for (const auto& plan : plans) runners.push_back(plan.get());
  const std::vector<std::vector<double>> seconds =
      race_plans(runners, inputs, options_.repeat, options_.progress);
  base_seconds = median(seconds[0]);
  std::vector<MedianInterval> result;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    result.push_back(difference_of(seconds[i + 1], seconds[0]));
  }
  return result;
}

std::vector<RunCost> Trials::costs(std::span<const Change> changes) const {
  const int threads = resolve_threads(options_.threads);
  const std::vector<Tensor> sample = first();
  const std::vector<TensorView> inputs = views_of(sample);
  const std::unique_ptr<Executor> base = model({});
  const std::shared_ptr<const Plan> base_plan =
      compile_pair(fp32_, base.get(), shapes_, threads).int8;
  std::vector<RunCost> result;
  for (const Change& change : changes) {
    const std::unique_ptr<Executor> changed = model(change);
    const std::shared_ptr<const Plan> plan =
        compile_pair(fp32_, changed.get(), shapes_, threads).int8;
    const std::vector<const Plan*> runners{base_plan.get(), plan.get()};
    const std::vector<std::vector<double>> seconds =
        race_plans(runners, inputs, options_.repeat, options_.progress);
    result.push_back(cost_of(seconds[1], seconds[0]));
  }
  return result;
}

}  // namespace qtool
