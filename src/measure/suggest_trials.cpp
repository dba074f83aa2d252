#include "measure/suggest_trials.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "calib/statistics.h"
#include "measure/image_runs.h"
#include "measure/model_pair.h"
#include "measure/output_noise.h"
#include "qtool/base/error.h"
#include "qtool/exec/prepare.h"
#include "qtool/measure/evaluate.h"
#include "qtool/quantize/calibrate.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;

/// Models in memory at a time, beside FP32.
constexpr std::size_t kTogether = 6;
constexpr std::int64_t kWarmUps = 3;

/// The table that another method gives, with what the user set in the recipe's own.
CalibrationTable decided(const Executor& fp32, const Recipe& recipe, const Collection& statistics,
                         const std::string& method) {
  CalibrateOptions options;
  options.target = recipe.options.target;
  options.types = recipe.table.types;
  options.rewrites = recipe.table.rewrites.names;
  options.overrides.exclude = recipe.options.exclude;
  options.method = method;
  options.method_options = recipe.table.method_options;
  options.collect.threads = recipe.options.threads;
  options.collect.model_fingerprint = statistics.model_fingerprint;
  for (const TensorStatistics& tensor : statistics.tensors) {
    options.collect.tensors.push_back(tensor.tensor);
  }
  CalibrationTable table = Calibration(fp32, std::move(options)).decide(statistics);
  for (ActivationEntry& entry : table.activations) {
    const ActivationEntry* own = recipe.table.find(entry.tensor);
    if (own != nullptr && own->origin == Origin::kUser) entry = *own;
  }
  return table;
}

bool any_effect(const std::vector<RewriteReport>& reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [](const RewriteReport& report) { return report.tensors > 0; });
}

}  // namespace

Trials::Trials(const Executor& fp32, const Recipe& recipe, const ImageSet& images,
               const SuggestOptions& options)
    : fp32_(fp32),
      recipe_(recipe),
      images_(images),
      options_(options),
      shape_(first_shape(images, options.preprocess, options.bad_images)) {}

CalibrationTable Trials::table_of(const Change& change) const {
  if (!change.method.empty()) {
    return decided(fp32_, recipe_, *options_.statistics, change.method);
  }
  // Scales of weights depend on rewrites and, where a bias is large, on ranges.
  if (change.weight_method.empty() || change.rewrites || !change.ranges.empty()) {
    return recipe_.table;
  }
  auto [found, fresh] = by_weight_method_.try_emplace(change.weight_method, recipe_.table);
  if (fresh) {
    StaticOptions options = recipe_.options;
    options.types.weight_method = change.weight_method;
    fill_weight_entries(fp32_.graph(), options, found->second);
    found->second.types.weight_method = change.weight_method;
  }
  return found->second;
}

std::optional<Quantized> Trials::quantized(const Change& change) const {
  CalibrationTable table = table_of(change);
  StaticOptions options = recipe_.options;
  options.exclude.insert(options.exclude.end(), change.exclude.begin(), change.exclude.end());
  if (!change.ranges.empty()) {
    Overrides overrides;
    overrides.ranges = change.ranges;
    apply_overrides(overrides, chosen_target(table, options).activations, nullptr, table);
  }
  if (!change.weight_method.empty()) options.types.weight_method = change.weight_method;
  if (change.rewrites) options.rewrites = change.rewrites;
  Quantized quantized = quantize(fp32_.graph(), table, options);
  if (quantized.report.quantized_tensors == 0) return std::nullopt;
  const bool rewritten = change.rewrites && !change.rewrites->empty();
  if (rewritten && !any_effect(quantized.report.rewrites)) return std::nullopt;
  return quantized;
}

std::unique_ptr<Executor> Trials::model(const Change& change) const {
  std::optional<Quantized> made = quantized(change);
  if (!made) return nullptr;
  return std::make_unique<Executor>(prepare(std::move(made->graph)));
}

void Trials::run(std::span<Trial> trials) const {
  for (std::size_t begin = 0; begin < trials.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, trials.size() - begin);
    run_some(trials.subspan(begin, count), begin, trials.size());
  }
}

void Trials::run_some(std::span<Trial> trials, std::size_t before, std::size_t all) const {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<std::size_t> trial_of;  // by plan
  std::shared_ptr<const Plan> fp32;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    try {
      std::unique_ptr<Executor> executor = model(trials[i].change);
      if (executor == nullptr) continue;
      ModelPair pair = compile_pair(fp32_, executor.get(), shape_, 1);
      fp32 = std::move(pair.fp32);
      plans.push_back(std::move(pair.int8));
      executors.push_back(std::move(executor));
      trial_of.push_back(i);
    } catch (const Error& error) {
      // What cannot be made is no suggestion; without a change it must be possible.
      if (error.code() == ErrorCode::kCancelled || trials[i].change == Change()) throw;
    }
  }
  if (plans.empty()) return;
  const std::size_t outputs = fp32->outputs().size();
  struct Worker {
    Workspace fp32;
    std::vector<Workspace> int8;
    KeptOutputs reference;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(image_workers(images_, options_)));
  std::vector<std::vector<SqnrSums>> sums(images_.entries.size());  // plan * outputs + output
  AnalyzeOptions part = options_;
  if (options_.progress) {
    part.progress = [&](std::int64_t done, std::int64_t total) {
      const auto share = static_cast<std::int64_t>(trials.size());
      return options_.progress(static_cast<std::int64_t>(before) * total + done * share,
                               static_cast<std::int64_t>(all) * total);
    };
  }
  for_each_image(images_, part, fp32->inputs().front().shape, "trying changes",
                 [&](std::size_t entry, const Tensor& image, int index) {
                   Worker& worker = workers[static_cast<std::size_t>(index)];
                   worker.int8.resize(plans.size());
                   const std::array<TensorView, 1> inputs{TensorView(image)};
                   worker.reference.keep(fp32->run(inputs, worker.fp32));
                   for (std::size_t p = 0; p < plans.size(); ++p) {
                     const std::vector<SqnrSums> compared =
                         worker.reference.compare(plans[p]->run(inputs, worker.int8[p]));
                     sums[entry].insert(sums[entry].end(), compared.begin(), compared.end());
                   }
                 });
  std::vector<SqnrSums> total(plans.size() * outputs);
  for (const std::vector<SqnrSums>& one : sums) {
    for (std::size_t i = 0; i < one.size(); ++i) total[i] += one[i];
  }
  for (std::size_t p = 0; p < plans.size(); ++p) {
    trials[trial_of[p]].noise = noise_of(std::span(total).subspan(p * outputs, outputs));
  }
}

std::vector<MedianInterval> Trials::slower(std::span<const Change> changes,
                                           double& base_seconds) const {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::shared_ptr<const Plan>> plans;
  const int threads = resolve_threads(options_.threads);
  const auto add = [&](const Change& change) {
    executors.push_back(model(change));
    plans.push_back(compile_pair(fp32_, executors.back().get(), shape_, threads).int8);
  };
  add({});
  for (const Change& change : changes) add(change);
  std::optional<Tensor> image;
  std::vector<BadImage> bad;
  for (std::size_t i = 0; !image; ++i) {  // first_shape() found one
    image = load_preprocessed(images_.entries.at(i), options_.preprocess, options_.bad_images, bad);
  }
  const std::array<TensorView, 1> inputs{TensorView(*image)};
  std::vector<Workspace> workspaces(plans.size());
  std::vector<double> base;
  std::vector<std::vector<double>> differences(changes.size());
  std::vector<double> seconds(plans.size());
  for (std::int64_t run = -kWarmUps; run < options_.repeat; ++run) {
    for (std::size_t turn = 0; turn < plans.size(); ++turn) {
      // Another one begins each time.
      const std::size_t p = (turn + static_cast<std::size_t>(run + kWarmUps)) % plans.size();
      const Clock::time_point start = Clock::now();
      plans[p]->run(inputs, workspaces[p]);
      seconds[p] = std::chrono::duration<double>(Clock::now() - start).count();
    }
    report_progress(options_.progress, std::max<std::int64_t>(run + 1, 0), options_.repeat,
                    "measurement", "runs");
    if (run < 0) continue;  // warming up
    base.push_back(seconds[0]);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      differences[i].push_back(seconds[i + 1] - seconds[0]);
    }
  }
  base_seconds = median(std::move(base));
  std::vector<MedianInterval> result;
  for (std::vector<double>& difference : differences) {
    result.push_back(median_interval(std::move(difference)));
  }
  return result;
}

}  // namespace qtool
