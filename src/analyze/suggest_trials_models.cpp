// The models that Trials makes.

#include <algorithm>
#include <utility>

#include "analyze/suggest_trials.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"

namespace qtool {
namespace {

/// The table that another method gives. Entries that the user set in the base table are kept.
CalibrationTable decided(const Executor& fp32, const StaticInputs& base,
                         const Collection& statistics, const std::string& method) {
  Recipe recipe;
  recipe.target = base.options.target;
  recipe.types = base.table.types;
  recipe.rewrites = base.table.rewrites.names;
  recipe.overrides.exclude = base.options.exclude;
  recipe.method = method;
  recipe.method_options = base.table.method_options;
  CalibrateOptions options = calibrate_options(recipe);
  options.collect.threads = base.options.threads;
  options.collect.model_fingerprint = statistics.model_fingerprint;
  for (const TensorStatistics& tensor : statistics.tensors) {
    options.collect.tensors.push_back(tensor.tensor);
  }
  CalibrationTable table = Calibration(fp32, std::move(options)).decide(statistics);
  for (ActivationEntry& entry : table.activations) {
    const ActivationEntry* own = base.table.find(entry.tensor);
    if (own != nullptr && own->origin == Origin::kUser) entry = *own;
  }
  return table;
}

bool any_effect(const std::vector<RewriteReport>& reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [](const RewriteReport& report) { return report.tensors > 0; });
}

}  // namespace

const CalibrationTable* Trials::table_by_method(const std::string& method) const {
  auto [found, fresh] = by_method_.try_emplace(method);
  if (fresh) {
    try {
      found->second = decided(fp32_, base_, *options_.statistics, method);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
    }
  }
  return found->second ? &*found->second : nullptr;
}

CalibrationTable Trials::table_of(const Change& change) const {
  if (!change.method.empty()) {
    const CalibrationTable* table = table_by_method(change.method);
    if (table == nullptr) {
      throw Error(ErrorCode::kUnsupported, to_text("method '", change.method, "' refuses"));
    }
    return *table;
  }
  // The scales of weights depend on rewrites and, where a bias is large, on ranges. Then they
  // cannot be chosen in advance for a weight method.
  if (change.weight_method.empty() || change.rewrites || !change.ranges.empty()) {
    return base_.table;
  }
  const auto key = std::pair(change.weight_method, change.effort);
  auto [found, fresh] = by_weight_method_.try_emplace(key, base_.table);
  if (fresh) {
    StaticOptions options = base_.options;
    options.types.weight_method = change.weight_method;
    if (!change.effort.empty()) options.rewrites = resolved(recipe_of(change)).rewrites;
    fill_weight_entries(fp32_.graph(), options, found->second, base_.learned);
  }
  return found->second;
}

Recipe Trials::recipe_of(const Change& change) const {
  const auto joined = [](std::vector<std::string> own, const std::vector<std::string>& more) {
    own.insert(own.end(), more.begin(), more.end());
    return own;
  };
  const StaticOptions& base = base_.options;
  Recipe recipe;
  recipe.may_judge = false;  // it would take as long again for each change that learns
  recipe.target = change.target.empty() ? base.target : change.target;
  recipe.types = base.types;
  recipe.rewrites = change.rewrites ? change.rewrites : base.rewrites;
  if (!change.effort.empty()) {
    recipe.effort = find_effort(change.effort).effort;
  } else if (is_rounded_on_images(base_)) {
    recipe.rounding = base.rounding;
  }
  // A correction on images suits one model only, and would have to be measured for each change.
  const bool is_sequential = base.bias_correction == BiasCorrection::kSequential;
  const bool is_lost = is_sequential && change != Change() && options_.learning;
  recipe.bias_correction = change.corrects_biases ? BiasCorrection::kSequential
                           : is_lost              ? BiasCorrection::kTable
                                                  : base.bias_correction;
  recipe.overrides.exclude = joined(base.exclude, change.exclude);
  recipe.overrides.wide = joined(base.wide, change.wide);
  recipe.overrides.ranges = change.ranges;
  recipe.form = base.form;
  if (!change.weight_method.empty()) recipe.types.weight_method = change.weight_method;
  return recipe;
}

StaticInputs Trials::unlearned(const Change& change, const Recipe& recipe) const {
  MakeOptions options;
  options.threads = base_.options.threads;
  options.model_fingerprint = base_.options.model_fingerprint;
  options.version = base_.options.version;
  options.stop = options_.stop;
  return inputs_of_table(recipe, table_of(change), options);
}

const Trials::LearnedChange& Trials::learned_of(Change change) const {
  // Weights are rounded the same way whichever tensors have 16 bits, see round_on_images(). Biases
  // and ranges are not.
  const Recipe whole = resolved(recipe_of(change));
  if (whole.bias_correction != BiasCorrection::kSequential && !whole.tune_ranges) {
    change.wide.clear();
  }
  for (const auto& [known, learned] : learned_) {
    if (!(known == change)) continue;
    saved_seconds_ += learned.seconds;
    return learned;
  }
  const LearningSamples& from = options_.learning.value();
  MakeOptions options;
  options.preprocess = from.preprocess;
  options.bad_images = options_.bad_images;
  options.threads = options_.threads;
  options.stop = options_.stop;
  options.known_layers = &known_layers_;
  const Recipe recipe = recipe_of(change);
  StaticInputs inputs = unlearned(change, recipe);
  const Stopwatch making;
  learn(fp32_, recipe, from.samples, options, inputs);
  LearnedChange learned{std::move(inputs.learned), std::move(inputs.options.rounding),
                        making.seconds()};
  // Layers that were known took no time. A command has to round them too, like the first change.
  const double took = learned.seconds;
  for (const auto& [other, first] : learned_) {
    if (other.corrects_biases == change.corrects_biases && other.effort == change.effort) {
      learned.seconds = std::max(learned.seconds, first.seconds);
    }
  }
  saved_seconds_ += learned.seconds - took;
  return learned_.emplace_back(change, std::move(learned)).second;
}

StaticInputs Trials::inputs_of(const Change& change) const {
  StaticInputs inputs = unlearned(change, recipe_of(change));
  Change learning = change;
  if (change != Change() && is_rounded_on_images(base_) && options_.learning) {
    // The integers of the base suit its own scales only. Other changes take those of one recipe.
    if (change.learned_on.empty()) learning = {.learned_on = options_.learning->words};
  }
  if (learning.learned_on.empty()) {
    inputs.options.rounding = base_.options.rounding;
    inputs.learned = base_.learned;
  } else {
    const LearnedChange& learned = learned_of(learning);
    inputs.options.rounding = learned.rounding;
    inputs.learned = learned.learned;
  }
  return inputs;
}

std::unique_ptr<Executor> Trials::made_of(const Change& change, const StaticInputs& inputs) const {
  Quantized quantized = quantize(fp32_.graph(), inputs);
  if (quantized.report.quantized_tensors == 0) return nullptr;
  // A table for another target may lack ranges of this one.
  if (!change.target.empty() && !quantized.report.missing_ranges.empty()) return nullptr;
  const bool rewritten = change.rewrites && !change.rewrites->empty();
  if (rewritten && !any_effect(quantized.report.rewrites)) return nullptr;
  return std::make_unique<Executor>(prepare(std::move(quantized.graph), options_.stop),
                                    options_.stop);
}

std::unique_ptr<Executor> Trials::model(const Change& change) const {
  return made_of(change, inputs_of(change));
}

std::vector<Trials::Made> Trials::make(std::span<Trial> trials) const {
  std::vector<std::optional<StaticInputs>> inputs(trials.size());
  std::vector<Made> made(trials.size());
  const auto attempt = [&](Trial& trial, const auto& work) {
    check_stop(options_.stop);
    try {
      const Stopwatch making;
      work();
      trial.making_seconds += making.seconds();
    } catch (const Error& error) {
      // A model that cannot be made is not suggested. But the unchanged model must be possible.
      if (error.code() == ErrorCode::kCancelled || trial.change == Change()) throw;
    }
  };
  // What is learned and chosen here is kept for later changes, and runs on all threads by itself.
  for (std::size_t i = 0; i < trials.size(); ++i) {
    attempt(trials[i], [&] {
      saved_seconds_ = 0.0;
      inputs[i] = inputs_of(trials[i].change);
      trials[i].making_seconds = saved_seconds_;
    });
  }
  parallel_items(std::ssize(trials), resolve_threads(options_.threads), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    if (!inputs[at]) return;
    attempt(trials[at], [&] {
      std::unique_ptr<Executor> executor = made_of(trials[at].change, *inputs[at]);
      if (executor == nullptr) return;
      made[at].pair = compile_pair(fp32_, executor.get(), shapes_, 1);
      made[at].executor = std::move(executor);
    });
    inputs[at].reset();
  });
  return made;
}

}  // namespace qtool
