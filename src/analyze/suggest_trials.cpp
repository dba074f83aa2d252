#include "analyze/suggest_trials.h"

#include <algorithm>
#include <utility>

#include "answers/answer.h"
#include "answers/class_scores.h"
#include "compare/detector_check.h"
#include "compare/intervals.h"
#include "compare/output_noise.h"
#include "compare/sample_runs.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
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
  const std::vector<Made> models = make(trials);
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<std::size_t> trial_of;  // [plan]
  std::shared_ptr<const Plan> fp32;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (models[i].executor == nullptr) continue;
    fp32 = models[i].pair.fp32;
    plans.push_back(models[i].pair.int8);
    trial_of.push_back(i);
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
