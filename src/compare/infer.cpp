#include "qtool/compare/infer.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "answers/answer.h"
#include "answers/class_scores.h"
#include "answers/suppress_boxes.h"
#include "compare/alternating_runs.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"

namespace qtool {
namespace {

constexpr double kPairedIou = 0.5;

std::vector<ScoredClass> best_classes(std::span<const float> scores, std::int64_t count) {
  const std::vector<double> probabilities = are_probabilities(scores)
                                                ? std::vector<double>(scores.begin(), scores.end())
                                                : softmax(scores);
  std::vector<ScoredClass> best;
  for (const std::int64_t index : top_k(scores, count)) {
    const auto i = static_cast<std::size_t>(index);
    best.push_back({index, scores[i], probabilities[i]});
  }
  return best;
}

std::vector<BoxPair> pair_boxes(std::span<const Box> fp32, std::span<const Box> int8) {
  std::vector<BoxPair> pairs(fp32.size());
  for (std::size_t i = 0; i < fp32.size(); ++i) pairs[i].fp32 = static_cast<std::int64_t>(i);
  const std::vector<std::int64_t> partners = match_boxes(fp32, int8, kPairedIou);
  for (std::size_t i = 0; i < int8.size(); ++i) {
    if (partners[i] < 0) pairs.emplace_back();
    const auto partner = static_cast<std::size_t>(partners[i]);
    BoxPair& pair = partners[i] < 0 ? pairs.back() : pairs[partner];
    pair.int8 = static_cast<std::int64_t>(i);
    if (pair.fp32) pair.iou = intersection_over_union(fp32[partner], int8[i]);
  }
  return pairs;
}

InferRun describe_plan(const Plan& plan) {
  InferRun run;
  run.steps = std::ssize(plan.steps());
  run.integer_steps = std::ranges::count_if(plan.steps(), &StepInfo::integer);
  return run;
}

}  // namespace

InferResult infer(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
                  const InferOptions& options) {
  AlternatingRuns runs(fp32, int8, sample, options.threads, options.repeat, options.requantization);
  const ModelPair& pair = runs.pair();
  const auto models = static_cast<std::size_t>(pair.models());
  InferResult result;
  result.threads = runs.threads();
  result.repeat = options.repeat;
  result.requantization = options.requantization;
  const AnswerReader answers(options.answers, *pair.fp32, options.layout);
  std::array<std::vector<double>, 2> seconds;
  runs.run(1, options.progress, [&](std::size_t model, bool counts) {
    const double took = runs.run_once(model);
    if (counts) seconds[model].push_back(took);
  });

  const std::int64_t batch = batch_of(shapes_of(sample));
  if (!options.answers.boxes && !options.answers.mask) {
    result.classes = class_count(pair.fp32->outputs(), batch);
  }
  result.fp32 = describe_plan(*pair.fp32);
  if (int8 != nullptr) result.int8 = describe_plan(*pair.int8);
  const std::array<FloatOutputs, 2> floats{FloatOutputs(runs.outputs(0)),
                                           FloatOutputs(runs.outputs(1))};
  for (std::size_t m = 0; m < models; ++m) {
    InferRun& run = m == 0 ? result.fp32 : *result.int8;
    run.fastest_seconds = *std::ranges::min_element(seconds[m]);
    run.seconds = median(seconds[m]);
    run.answered = all_answered(floats[m]);
    if (result.classes > 0) {
      run.top = best_classes(floats[m].part(0, 0, batch), options.top);
    }
    run.answer = answers.read(runs.outputs(m));
  }
  answers.require_fit(runs.outputs(0));
  result.detects = options.answers.boxes.has_value();
  if (result.detects) result.classes = answers.box_classes();
  if (int8 != nullptr) {
    AnswerScorer scorer(options.answers);
    scorer.add(result.fp32.answer, result.int8->answer);
    result.answers = scorer.result();
  }
  if (result.detects) {
    const double least = options.answers.boxes->thresholds.front();
    for (std::size_t m = 0; m < models; ++m) {
      std::erase_if((m == 0 ? result.fp32 : *result.int8).answer.boxes,
                    [&](const Box& box) { return static_cast<double>(box.score) < least; });
    }
    if (int8 != nullptr) {
      result.box_pairs = pair_boxes(result.fp32.answer.boxes, result.int8->answer.boxes);
    }
  }
  for (std::size_t i = 0; int8 != nullptr && i < floats[0].size(); ++i) {
    OutputError error = compare_output(floats[0][i], floats[1][i], options.answers.psnr_peak).error;
    error.name = pair.fp32->outputs()[i].name;
    result.outputs.push_back(error);
  }
  return result;
}

}  // namespace qtool
