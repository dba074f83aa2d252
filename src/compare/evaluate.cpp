#include "qtool/compare/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answers/answer.h"
#include "answers/class_scores.h"
#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "compare/annotated_boxes.h"
#include "compare/detector_check.h"
#include "compare/kept_counts.h"
#include "compare/metrics.h"
#include "compare/model_pair.h"
#include "compare/near_chance.h"
#include "compare/sample_figures.h"
#include "exec/state_feedback.h"
#include "qtool/base/error.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

constexpr std::int64_t kTopFive = 5;

/// The results of one sample, kept until the end.
struct SampleRecord {
  bool usable = false;
  std::array<TopClass, 2> top1{};  // per model
  double margin_lost = 0.0;
  std::array<bool, 2> in_top1{};
  std::array<bool, 2> in_top5{};
  std::array<bool, 2> answered{};       // in every output
  std::vector<ComparedOutput> outputs;  // where both models answered
  std::vector<BadImage> bad;            // here, so that workers share no list
};

// The best score minus the second one. There must be two or more scores.
double margin_of(std::span<const float> scores, std::span<const std::int64_t> top) {
  const auto score = [&](std::size_t rank) {
    return double{scores[static_cast<std::size_t>(top[rank])]};
  };
  return score(0) - score(1);
}

/// The state of one worker between images.
struct EvalWorker {
  std::array<Workspace, 2> workspaces;
  std::array<double, 2> run_seconds{};
  std::vector<StateFeedback> states;  // one per model, if samples have states
  std::vector<Tensor> batch_inputs;
  std::optional<AnswerScorer> answers;  // set with two models
};

class Evaluation {
 public:
  Evaluation(const Executor& fp32, const Executor* int8, const Samples& samples,
             const EvalOptions& options, ModelPair pair, std::int64_t classes, std::size_t workers)
      : fp32_(fp32),
        int8_(int8),
        samples_(samples),
        options_(options),
        pair_(std::move(pair)),
        classes_(classes),
        answers_(options.answers, *pair_.fp32, options.preprocess.layout,
                 options.annotations != nullptr ? kAnnotatedScore : kRankedScore),
        records_(static_cast<std::size_t>(samples.size())),
        counts_(records_.size()),
        workers_(workers) {
    for (EvalWorker& worker : workers_) {
      for (std::int64_t model = 0; !samples.states().empty() && model < pair_.models(); ++model) {
        worker.states.emplace_back(samples, pair_.plan(model));
      }
      if (pair_.int8 != nullptr) worker.answers.emplace(options.answers);
    }
    if (options.annotations != nullptr && options.answers.boxes && pair_.int8 != nullptr) {
      annotated_.emplace(options, samples, answers_.box_classes());
    }
  }

  /// Runs the samples [group * batch, (group + 1) * batch) on worker `index`.
  void run_group(std::int64_t group, int index) {
    EvalWorker& worker = workers_[static_cast<std::size_t>(index)];
    const std::int64_t begin = group * options_.batch;
    const std::int64_t end = std::min(begin + options_.batch, samples_.size());
    std::vector<std::size_t> filled;  // index in the list of the sample in each slot
    std::vector<Tensor> single;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      std::optional<std::vector<Tensor>> sample =
          samples_.load(i, options_.preprocess, options_.bad_images, records_[entry].bad);
      if (!sample) continue;
      if (options_.batch == 1) {
        single = *std::move(sample);
        if (reads_answers() || !samples_.states().empty() || !accepts(fp32_.graph(), single)) {
          require_shapes(samples_, i, single, *pair_.fp32);
        }
      } else {
        put(*sample, i, std::ssize(filled), worker);
      }
      filled.push_back(entry);
    }
    if (!filled.empty()) {
      run_models(options_.batch == 1 ? single : worker.batch_inputs, filled, worker);
    }
    advance(end - begin);
  }

  EvalResult result(const Plan& names) const {
    EvalResult result;
    result.noun = samples_.noun();
    result.passed_over = samples_.passed_over();
    result.classes = classes_;
    result.batch = options_.batch;
    result.workers = static_cast<int>(workers_.size());
    if (pair_.int8 != nullptr) result.int8.emplace();
    AnswerScorer answers(options_.answers);
    for (const EvalWorker& worker : workers_) {
      result.fp32.run_seconds += worker.run_seconds[0];
      if (!result.int8) continue;
      result.int8->run_seconds += worker.run_seconds[1];
      answers += *worker.answers;
    }
    if (result.int8) result.answers = answers.result();
    if (annotated_) result.accuracy = annotated_->result();
    std::vector<SqnrSums> sums;
    std::int64_t compared = 0;
    if (result.int8) {
      for (const PortInfo& port : names.outputs()) {
        OutputError error;
        error.name = port.name;
        error.dtype = port.dtype;
        error.cosine = 0.0;
        error.lowest_sqnr_db = kSqnrLimitDb;
        if (options_.answers.psnr_peak) error.psnr_db = 0.0;
        result.outputs.push_back(error);
      }
      sums.resize(result.outputs.size());
    }
    SampleFigures figures;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const SampleRecord& record = records_[i];
      result.bad.insert(result.bad.end(), record.bad.begin(), record.bad.end());
      if (!record.usable) continue;
      merge(record, static_cast<std::int64_t>(i), result);
      for (std::size_t k = 0; k < record.outputs.size(); ++k) {
        merge(record.outputs[k].error, static_cast<std::int64_t>(i), result.outputs[k]);
        sums[k] += record.outputs[k].sums;
      }
      if (!record.outputs.empty()) ++compared;
      figures.add(record.outputs);
      if (result.samples.back().label >= 0) {
        figures.add_top1(record.in_top1[0], record.in_top1[1]);
      }
    }
    for (std::size_t k = 0; k < result.outputs.size(); ++k) {
      finish(sums[k], compared, result.outputs[k]);
    }
    if (samples_.states().empty()) {  // samples with states are not independent
      figures.write_intervals(result);
      counts_.write_intervals(result.answers);
    }
    return result;
  }

 private:
  void put(const std::vector<Tensor>& sample, std::int64_t item, std::int64_t slot,
           EvalWorker& worker) const {
    const std::vector<PortInfo>& ports = pair_.fp32->inputs();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (worker.batch_inputs.size() == i) {
        worker.batch_inputs.emplace_back(sample[i].dtype(), ports[i].shape);
      }
      Tensor& batch = worker.batch_inputs[i];
      std::vector<std::int64_t> one = ports[i].shape.dims();
      one.front() = 1;
      require_shape(samples_, item, sample[i], Shape(std::move(one)));
      std::memcpy(batch.data() + slot * sample[i].bytes(), sample[i].data(),
                  static_cast<std::size_t>(sample[i].bytes()));
    }
  }

  /// Whether answers are read from the outputs. The outputs must then have the shapes that are
  /// known in advance.
  [[nodiscard]] bool reads_answers() const {
    const AnswerOptions& answers = options_.answers;
    return answers.boxes || answers.mask || answers.decision || answers.text_blank;
  }

  /// The plans for a sample: the plans made in advance or, if the sample has other shapes, plans
  /// made now. The executor keeps some plans for later samples.
  [[nodiscard]] ModelPair pair_for(const std::vector<Tensor>& sample) const {
    const std::vector<PortInfo>& ports = pair_.fp32->inputs();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (sample[i].shape() != ports[i].shape) {
        return compile_pair(fp32_, int8_, shapes_of(sample), 1, options_.requantization);
      }
    }
    return pair_;
  }

  void run_models(const std::vector<Tensor>& sample, const std::vector<std::size_t>& filled,
                  EvalWorker& worker) {
    const ModelPair pair = pair_for(sample);
    std::vector<TensorView> inputs = views_of(sample);
    std::array<std::span<const TensorView>, 2> outputs;
    for (std::int64_t model = 0; model < pair.models(); ++model) {
      const auto m = static_cast<std::size_t>(model);
      if (!worker.states.empty()) {  // each model has its own states
        inputs = worker.states[m].inputs(static_cast<std::int64_t>(filled.front()), sample);
      }
      const Stopwatch run;
      outputs[m] = pair.plan(model).run(inputs, worker.workspaces[m]);
      const double seconds = run.seconds();
      // The last batch may be partly empty; its time counts in proportion to the images in it.
      worker.run_seconds[m] +=
          seconds * static_cast<double>(filled.size()) / static_cast<double>(options_.batch);
      if (!worker.states.empty()) worker.states[m].keep(outputs[m]);
    }
    const bool scores =
        classes_ > 0 && class_count(pair.fp32->outputs(), options_.batch) == classes_;
    const std::array<FloatOutputs, 2> floats{FloatOutputs(outputs[0]), FloatOutputs(outputs[1])};
    for (std::size_t slot = 0; slot < filled.size(); ++slot) {
      record(filled[slot], static_cast<std::int64_t>(slot), floats, scores);
      if (!worker.answers) continue;
      const Answer first = answers_.read(outputs[0], static_cast<std::int64_t>(slot));
      const Answer second = answers_.read(outputs[1], static_cast<std::int64_t>(slot));
      counts_.keep(filled[slot], worker.answers->add(first, second));
      if (!annotated_) continue;
      const auto item = static_cast<std::int64_t>(filled[slot]);
      annotated_->add(item, annotated_->size_of(item, samples_.path(item)), first.boxes,
                      second.boxes);
    }
  }

  void record(std::size_t entry, std::int64_t slot, const std::array<FloatOutputs, 2>& outputs,
              bool scored) {
    SampleRecord& record = records_[entry];
    record.usable = true;
    bool all_answered = true;
    std::array<std::span<const float>, 2> answers;
    for (std::size_t m = 0; m < static_cast<std::size_t>(pair_.models()); ++m) {
      record.answered[m] = qtool::all_answered(outputs[m], slot, options_.batch);
      all_answered = all_answered && record.answered[m];
      if (!scored) continue;
      const std::span<const float> scores = outputs[m].part(0, slot, options_.batch);
      if (!has_answer(scores)) continue;
      const std::vector<std::int64_t> top = top_k(scores, kTopFive);
      const std::int64_t label = samples_.label(static_cast<std::int64_t>(entry));
      answers[m] = scores;
      record.top1[m] = {top.front(), margin_of(scores, top)};
      record.in_top1[m] = top.front() == label;
      record.in_top5[m] = std::find(top.begin(), top.end(), label) != top.end();
    }
    if (!answers[0].empty() && !answers[1].empty()) {
      const auto before = static_cast<std::size_t>(record.top1[0].index);
      const auto after = static_cast<std::size_t>(record.top1[1].index);
      if (before != after) {
        record.margin_lost = record.top1[0].margin + double{answers[1][after]} - answers[1][before];
      }
    }
    for (std::size_t i = 0; pair_.int8 != nullptr && all_answered && i < outputs[0].size(); ++i) {
      record.outputs.push_back(compare_output(outputs[0].part(i, slot, options_.batch),
                                              outputs[1].part(i, slot, options_.batch),
                                              options_.answers.psnr_peak));
    }
  }

  void merge(const SampleRecord& record, std::int64_t item, EvalResult& result) const {
    ++result.images;
    if (samples_.label(item) >= 0 && result.classes > 0) ++result.labelled;
    for (std::size_t m = 0; m < (result.int8 ? 2U : 1U); ++m) {
      ModelScore& score = m == 0 ? result.fp32 : *result.int8;
      score.top1 += record.in_top1[m];
      score.top5 += record.in_top5[m];
      if (record.answered[m]) continue;
      if (score.unanswered.images++ == 0) score.unanswered.first = samples_.path(item);
    }
    if (result.int8 && record.top1[0].index >= 0) {
      result.agreement += record.top1[0].index == record.top1[1].index;
    }
    SampleResult& sample = result.samples.emplace_back();
    sample.path = samples_.path(item);
    if (result.classes > 0) sample.label = samples_.label(item);
    sample.top1 = record.top1;
    sample.margin_lost = record.margin_lost;
    for (const ComparedOutput& output : record.outputs) {
      sample.sqnr_db.push_back(output.error.sqnr_db);
    }
  }

  void merge(const OutputError& one, std::int64_t item, OutputError& total) const {
    total.cosine += one.cosine;
    total.sqnr_db += one.sqnr_db;
    if (total.psnr_db) *total.psnr_db += one.psnr_db.value_or(0.0);
    if (total.lowest_sqnr_image.empty() || one.sqnr_db < total.lowest_sqnr_db) {
      total.lowest_sqnr_db = one.sqnr_db;
      total.lowest_sqnr_image = samples_.path(item);
    }
    total.max_abs_error = std::max(total.max_abs_error, one.max_abs_error);
  }

  static void finish(const SqnrSums& sums, std::int64_t images, OutputError& total) {
    const double count =
        images > 0 ? static_cast<double>(images) : std::nan("");  // no images have no mean
    total.cosine /= count;
    total.sqnr_db /= count;
    if (total.psnr_db) *total.psnr_db /= count;
    total.pooled_sqnr_db = images > 0 ? sums.decibels() : count;
    if (images == 0) total.lowest_sqnr_db = total.max_abs_error = count;
  }

  void advance(std::int64_t images) {
    const std::lock_guard lock(progress_mutex_);
    done_ += images;
    report_progress(options_.progress, done_, samples_.size(), "evaluation",
                    to_text(samples_.noun(), "s"));
  }

  const Executor& fp32_;
  const Executor* int8_;
  const Samples& samples_;
  const EvalOptions& options_;
  ModelPair pair_;
  std::int64_t classes_;
  AnswerReader answers_;
  std::optional<AnnotatedBoxes> annotated_;
  std::vector<SampleRecord> records_;
  KeptCounts counts_;
  std::vector<EvalWorker> workers_;
  std::mutex progress_mutex_;
  std::int64_t done_ = 0;
};

}  // namespace

EvalResult evaluate(const Executor& fp32, const Executor* int8, const Samples& samples,
                    const EvalOptions& options) {
  if (options.batch < 1) {
    throw Error(ErrorCode::kUsage, to_text("batch: found ", options.batch, ", expected 1 or more"));
  }
  if (options.batch > 1 && !samples.states().empty()) {
    throw Error(ErrorCode::kUsage,
                to_text("batch: found ", options.batch, ", samples with states run one at a time"));
  }
  check(options.preprocess);
  const std::vector<Tensor> first = first_sample(samples, options.preprocess, options.bad_images);
  require_fitting_detector(options.answers, fp32, first, options.preprocess.layout);
  std::vector<Shape> shapes = shapes_of(first);
  for (Shape& shape : shapes) {
    if (options.batch > 1) shape = batch_shape(shape, options.batch);
  }
  const ModelPair pair = compile_pair(fp32, int8, shapes, 1, options.requantization);
  const Plan& plan = *pair.fp32;
  require_batched_outputs(plan, options.batch);
  const bool scores = !options.answers.boxes && !options.answers.mask;
  const std::int64_t classes = scores ? class_count(plan.outputs(), options.batch) : 0;
  const bool folders_differ = options.labels == LabelSource::kFolders &&
                              !samples.class_names().empty() &&
                              std::ssize(samples.class_names()) != classes;
  const bool ignore_labels =
      classes > 0 && (folders_differ || options.labels == LabelSource::kUnused);
  if (classes > 0 && !ignore_labels) require_known_labels(samples, classes);

  const std::int64_t groups = ceil_div(samples.size(), options.batch);
  const int most = samples.states().empty() ? resolve_threads(options.threads) : 1;
  const auto threads =
      static_cast<int>(std::min<std::int64_t>(most, std::max<std::int64_t>(groups, 1)));
  Evaluation evaluation(fp32, int8, samples, options, pair, classes,
                        static_cast<std::size_t>(threads));
  parallel_items(groups, threads,
                 [&](std::int64_t group, int worker) { evaluation.run_group(group, worker); });
  EvalResult result = evaluation.result(plan);
  result.labels_ignored = ignore_labels;
  result.requantization = options.requantization;
  if (classes > 0 && !ignore_labels) result.class_names = samples.class_names();
  if (ignore_labels) {
    result.labelled = 0;
    result.top1_change_interval.reset();
    for (SampleResult& sample : result.samples) sample.label = -1;
    for (ModelScore* score : {&result.fp32, result.int8 ? &*result.int8 : nullptr}) {
      if (score != nullptr) score->top1 = score->top5 = 0;
    }
  }
  result.near_chance = is_near_chance(result.fp32.top1, result.labelled, classes);
  return result;
}

}  // namespace qtool
