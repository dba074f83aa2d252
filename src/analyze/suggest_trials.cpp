#include "analyze/suggest_trials.h"

#include <algorithm>
#include <utility>

#include "answers/answer.h"
#include "answers/class_scores.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "compare/detector_check.h"
#include "compare/intervals.h"
#include "compare/model_pair.h"
#include "compare/output_noise.h"
#include "compare/sample_runs.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/quantize/coverage.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

/// The most bytes of FP32 outputs that are kept for all samples together.
constexpr std::int64_t kMostReferenceBytes = std::int64_t{64} << 20;

std::int64_t top_class(const FloatOutputs& outputs, std::int64_t classes) {
  if (classes == 0 || !has_answer(outputs[0])) return -1;
  return top_k(outputs[0], 1).front();
}

/// Adds the sums of one image to a group of each trial. `trial_of`: the trial of each plan.
void add_to_group(const std::vector<SqnrSums>& sums, std::size_t group, std::size_t outputs,
                  const std::vector<std::size_t>& trial_of, std::span<Trial> trials) {
  for (std::size_t p = 0; p < trial_of.size(); ++p) {
    std::vector<std::vector<SqnrSums>>& groups = trials[trial_of[p]].groups;
    groups.resize(std::max(groups.size(), group + 1), std::vector<SqnrSums>(outputs));
    for (std::size_t o = 0; o < outputs; ++o) groups[group][o] += sums[p * outputs + o];
  }
}

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

bool is_rounded_on_images(const StaticInputs& base) { return !base.learned.rounded.empty(); }

std::optional<Interval> gain_interval(const Trial& changed, const Trial& base) {
  if (!changed.noise || !base.noise || changed.groups.size() != base.groups.size()) {
    return std::nullopt;
  }
  const auto decibels_without = [](const Trial& trial, std::size_t left_out) {
    return noise_decibels(
        noise_of(sums_without(trial.groups, left_out, trial.groups.front().size())));
  };
  std::vector<double> without;
  for (std::size_t group = 0; group < base.groups.size(); ++group) {
    without.push_back(decibels_without(changed, group) - decibels_without(base, group));
  }
  return jackknife_interval(noise_decibels(*changed.noise) - noise_decibels(*base.noise), without);
}

std::optional<Interval> worst_output_interval(const Trial& trial) {
  if (trial.groups.empty()) return std::nullopt;
  std::vector<double> worst;  // without each group, then with all
  for (std::size_t left_out = 0; left_out <= trial.groups.size(); ++left_out) {
    double& decibels = worst.emplace_back(kSqnrLimitDb);
    for (const SqnrSums& sums : sums_without(trial.groups, left_out, trial.groups.front().size())) {
      decibels = std::min(decibels, sums.decibels());
    }
  }
  return jackknife_interval(worst.back(), std::span(worst).first(trial.groups.size()));
}

Trials::Trials(const Executor& fp32, const StaticInputs& base, const Samples& samples,
               const SuggestOptions& options, TrialIntervals intervals)
    : fp32_(fp32), base_(base), samples_(samples), options_(options), intervals_(intervals) {
  const std::vector<Tensor> first = first_sample(samples, options.preprocess, options.bad_images);
  require_fitting_detector(options.answers, fp32, first, options.preprocess.layout);
  if (samples.names_given() && !reads_agreement(options.answers)) {
    require_name_per_class(samples.class_names(),
                           classes_of(fp32, first, 1, Requantization::kFloat));
  }
  shapes_ = shapes_of(first);
  references_.resize(static_cast<std::size_t>(samples.size()));
}

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
  recipe.target = change.target.empty() ? base.target : change.target;
  recipe.types = base.types;
  recipe.rewrites = change.rewrites ? change.rewrites : base.rewrites;
  if (!change.effort.empty()) {
    recipe.effort = find_effort(change.effort).effort;
  } else if (is_rounded_on_images(base_)) {
    recipe.rounding = base.rounding;
  }
  recipe.bias_correction =
      change.corrects_biases ? BiasCorrection::kSequential : base.bias_correction;
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

std::optional<Quantized> Trials::quantized(const Change& change) const {
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
  Quantized quantized = quantize(fp32_.graph(), inputs);
  if (quantized.report.quantized_tensors == 0) return std::nullopt;
  // A table for another target may lack ranges of this one.
  if (!change.target.empty() && !quantized.report.missing_ranges.empty()) return std::nullopt;
  const bool rewritten = change.rewrites && !change.rewrites->empty();
  if (rewritten && !any_effect(quantized.report.rewrites)) return std::nullopt;
  return quantized;
}

std::unique_ptr<Executor> Trials::model(const Change& change) const {
  std::optional<Quantized> made = quantized(change);
  if (!made) return nullptr;
  return std::make_unique<Executor>(prepare(std::move(made->graph), options_.stop), options_.stop);
}

void Trials::run(std::span<Trial> trials) const {
  for (std::size_t begin = 0; begin < trials.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, trials.size() - begin);
    run_some(trials.subspan(begin, count), begin, trials.size());
  }
}

std::vector<TensorView> Trials::reference(const Plan& fp32, std::size_t sample,
                                          std::span<const TensorView> inputs,
                                          Workspace& workspace) const {
  std::vector<Tensor>& kept = references_[sample];
  if (!kept.empty()) return views_of(kept);
  const std::span<const TensorView> outputs = fp32.run(inputs, workspace);
  std::int64_t bytes = 0;
  for (const TensorView& output : outputs) {
    bytes += output.shape.elements() * size_of(output.dtype);
  }
  if (reference_bytes_.fetch_add(bytes) + bytes <= kMostReferenceBytes) {
    for (const TensorView& output : outputs) kept.push_back(to_tensor(output));
  } else {
    reference_bytes_ -= bytes;
  }
  return {outputs.begin(), outputs.end()};
}

void Trials::run_some(std::span<Trial> trials, std::size_t before, std::size_t all) const {
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<std::size_t> trial_of;  // [plan]
  std::shared_ptr<const Plan> fp32;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    check_stop(options_.stop);
    try {
      saved_seconds_ = 0.0;
      const Stopwatch making;
      std::unique_ptr<Executor> executor = model(trials[i].change);
      trials[i].making_seconds = making.seconds() + saved_seconds_;
      if (executor == nullptr) continue;
      ModelPair pair = compile_pair(fp32_, executor.get(), shapes_, 1);
      fp32 = std::move(pair.fp32);
      plans.push_back(std::move(pair.int8));
      executors.push_back(std::move(executor));
      trial_of.push_back(i);
    } catch (const Error& error) {
      // A model that cannot be made is not suggested. But the unchanged model must be possible.
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
  std::vector<Worker> workers(static_cast<std::size_t>(sample_workers(samples_, options_)));
  std::vector<TriedAnswers> answers(kSampleBlock);  // for the samples since the last merge
  const TrialScoreSums no_scores =
      intervals_ == TrialIntervals::kNone
          ? TrialScoreSums(options_.answers)
          : TrialScoreSums(options_.answers, static_cast<std::size_t>(samples_.size()),
                           kMostClassCounts / std::ssize(plans));
  std::vector<TrialScoreSums> scores(plans.size(), no_scores);
  std::vector<SqnrSums> sums(plans.size() * outputs);
  std::size_t usable = 0;
  const auto merge = [&](std::size_t begin, std::size_t end) {
    for (std::size_t entry = begin; entry < end; ++entry) {
      const TriedAnswers one = std::exchange(answers[entry % kSampleBlock], {});
      if (!one.usable) continue;
      for (std::size_t i = 0; i < one.sums.size(); ++i) sums[i] += one.sums[i];
      add_to_group(one.sums, usable++ % kJackknifeGroups, outputs, trial_of, trials);
      const std::int64_t label = samples_.label(static_cast<std::int64_t>(entry));
      for (std::size_t p = 0; p < plans.size(); ++p) scores[p].add(one, p, outputs, label);
    }
  };
  const AnswerReader reader(options_.answers, *fp32, options_.preprocess.layout);
  const bool reads = reads_agreement(options_.answers);
  const std::int64_t classes = reads ? 0 : class_count(fp32->outputs(), 1);
  AnalyzeOptions part = options_;
  if (options_.progress) {
    part.progress = [&](std::int64_t done, std::int64_t total) {
      const auto share = static_cast<std::int64_t>(trials.size());
      return options_.progress(static_cast<std::int64_t>(before) * total + done * share,
                               static_cast<std::int64_t>(all) * total);
    };
  }
  bad_ = for_each_sample(
      samples_, part, *fp32, "trying changes",
      [&](std::size_t entry, std::span<const TensorView> inputs, int index) {
        Worker& worker = workers[static_cast<std::size_t>(index)];
        worker.int8.resize(plans.size());
        TriedAnswers& answer = answers[entry % kSampleBlock];
        answer.usable = true;
        const std::vector<TensorView> reals = reference(*fp32, entry, inputs, worker.fp32);
        worker.reference.keep(reals);
        const FloatOutputs real_floats(reals);
        answer.fp32 = all_answered(real_floats);
        answer.fp32_class = top_class(real_floats, classes);
        const Answer real = reads ? reader.read(reals) : Answer();
        for (std::size_t p = 0; p < plans.size(); ++p) {
          const std::span<const TensorView> made = plans[p]->run(inputs, worker.int8[p]);
          const std::vector<SqnrSums> compared = worker.reference.compare(made);
          answer.sums.insert(answer.sums.end(), compared.begin(), compared.end());
          const FloatOutputs floats(made);
          answer.answered.push_back(all_answered(floats));
          answer.class_of.push_back(top_class(floats, classes));
          if (!reads) continue;
          AnswerScorer& scorer = answer.agreement.emplace_back(options_.answers);
          answer.counts.push_back(scorer.add(real, reader.read(made)));
        }
      },
      merge);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    Trial& trial = trials[trial_of[p]];
    trial.noise = noise_of(std::span(sums).subspan(p * outputs, outputs));
    trial.score = scores[p].score(outputs);
    trial.score.integer_share = coverage_of(*plans[p]).integer_share();
  }
}

}  // namespace qtool
