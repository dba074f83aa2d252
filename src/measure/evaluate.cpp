#include "qtool/measure/evaluate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "base/text.h"
#include "measure/answer.h"
#include "measure/metrics.h"
#include "measure/model_pair.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kTopFive = 5;

/// The results of one image, kept until the end.
struct ImageRecord {
  bool usable = false;
  std::array<std::int64_t, 2> top1{-1, -1};  // per model
  std::array<bool, 2> in_top1{};
  std::array<bool, 2> in_top5{};
  std::array<bool, 2> answered{};       // every output
  std::vector<ComparedOutput> outputs;  // where both models answered
};

/// The state of one worker between images.
struct Worker {
  std::array<Workspace, 2> workspaces;
  std::array<double, 2> run_seconds{};
  std::optional<Tensor> batch_input;
  std::optional<AnswerScorer> answers;  // with two models
};

class Evaluation {
 public:
  Evaluation(const ImageSet& images, const EvalOptions& options, ModelPair pair,
             std::int64_t classes, std::size_t workers)
      : images_(images),
        options_(options),
        pair_(std::move(pair)),
        classes_(classes),
        answers_(options.answers, *pair_.fp32, options.preprocess.layout),
        records_(images.entries.size()),
        bad_(images.entries.size()),
        workers_(workers) {
    for (Worker& worker : workers_) {
      if (pair_.int8 != nullptr) worker.answers.emplace(options.answers);
    }
  }

  /// Images [group * batch, ...) on worker `index`.
  void run_group(std::int64_t group, int index) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    const std::int64_t begin = group * options_.batch;
    const std::int64_t end = std::min(begin + options_.batch, std::ssize(images_.entries));
    std::vector<std::size_t> filled;  // entry of each slot in use
    Tensor single;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      std::optional<Tensor> tensor = load_preprocessed(images_.entries[entry], options_.preprocess,
                                                       options_.bad_images, bad_[entry]);
      if (!tensor) continue;
      require_image_shape(*tensor, images_.entries[entry], pair_.fp32->inputs().front().shape);
      if (options_.batch == 1) {
        single = std::move(*tensor);
      } else {
        put(*tensor, std::ssize(filled), worker);
      }
      filled.push_back(entry);
    }
    if (!filled.empty())
      run_models(options_.batch == 1 ? single : *worker.batch_input, filled, worker);
    advance(end - begin);
  }

  EvalResult result(const Plan& names) const {
    EvalResult result;
    result.classes = classes_;
    result.batch = options_.batch;
    result.workers = static_cast<int>(workers_.size());
    if (pair_.int8 != nullptr) result.int8.emplace();
    AnswerScorer answers(options_.answers);
    for (const Worker& worker : workers_) {
      result.fp32.run_seconds += worker.run_seconds[0];
      if (!result.int8) continue;
      result.int8->run_seconds += worker.run_seconds[1];
      answers += *worker.answers;
    }
    if (result.int8) result.answers = answers.result();
    std::vector<SqnrSums> sums;
    std::int64_t compared = 0;
    if (result.int8) {
      for (const PortInfo& port : names.outputs()) {
        OutputError error;
        error.name = port.name;
        error.cosine = 0.0;
        error.lowest_sqnr_db = kSqnrLimitDb;
        if (options_.answers.psnr_peak) error.psnr_db = 0.0;
        result.outputs.push_back(error);
      }
      sums.resize(result.outputs.size());
    }
    for (std::size_t i = 0; i < records_.size(); ++i) {
      result.bad.insert(result.bad.end(), bad_[i].begin(), bad_[i].end());
      const ImageRecord& record = records_[i];
      if (!record.usable) continue;
      merge(record, images_.entries[i], result);
      for (std::size_t k = 0; k < record.outputs.size(); ++k) {
        merge(record.outputs[k].error, images_.entries[i], result.outputs[k]);
        sums[k] += record.outputs[k].sums;
      }
      if (!record.outputs.empty()) ++compared;
    }
    for (std::size_t k = 0; k < result.outputs.size(); ++k) {
      finish(sums[k], compared, result.outputs[k]);
    }
    return result;
  }

 private:
  void put(const Tensor& image, std::int64_t slot, Worker& worker) const {
    if (!worker.batch_input) {
      worker.batch_input.emplace(DType::kFloat32, pair_.fp32->inputs().front().shape);
    }
    std::memcpy(worker.batch_input->data() + slot * image.bytes(), image.data(),
                static_cast<std::size_t>(image.bytes()));
  }

  void run_models(const Tensor& input, const std::vector<std::size_t>& filled, Worker& worker) {
    const std::array<TensorView, 1> inputs{TensorView(input)};
    std::array<std::span<const TensorView>, 2> outputs;
    for (std::int64_t model = 0; model < pair_.models(); ++model) {
      const auto m = static_cast<std::size_t>(model);
      const Clock::time_point start = Clock::now();
      outputs[m] = pair_.plan(model).run(inputs, worker.workspaces[m]);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      // The last batch may be partly empty; its time counts in proportion to the images in it.
      worker.run_seconds[m] +=
          seconds * static_cast<double>(filled.size()) / static_cast<double>(options_.batch);
    }
    for (std::size_t slot = 0; slot < filled.size(); ++slot) {
      record(filled[slot], static_cast<std::int64_t>(slot), outputs);
      if (!worker.answers) continue;
      worker.answers->add(answers_.read(outputs[0], static_cast<std::int64_t>(slot)),
                          answers_.read(outputs[1], static_cast<std::int64_t>(slot)));
    }
  }

  void record(std::size_t entry, std::int64_t slot,
              const std::array<std::span<const TensorView>, 2>& outputs) {
    ImageRecord& record = records_[entry];
    record.usable = true;
    bool all_answered = true;
    for (std::size_t m = 0; m < static_cast<std::size_t>(pair_.models()); ++m) {
      record.answered[m] = std::ranges::all_of(outputs[m], [&](const TensorView& output) {
        return has_answer(image_part(output, slot, options_.batch));
      });
      all_answered = all_answered && record.answered[m];
      const std::span<const float> scores = image_part(outputs[m].front(), slot, options_.batch);
      if (classes_ == 0 || !has_answer(scores)) continue;
      const std::vector<std::int64_t> top = top_k(scores, kTopFive);
      const std::int64_t label = images_.entries[entry].label;
      record.top1[m] = top.front();
      record.in_top1[m] = top.front() == label;
      record.in_top5[m] = std::find(top.begin(), top.end(), label) != top.end();
    }
    for (std::size_t i = 0; pair_.int8 != nullptr && all_answered && i < outputs[0].size(); ++i) {
      record.outputs.push_back(compare_output(image_part(outputs[0][i], slot, options_.batch),
                                              image_part(outputs[1][i], slot, options_.batch),
                                              options_.answers.psnr_peak));
    }
  }

  static void merge(const ImageRecord& record, const ImageEntry& image, EvalResult& result) {
    ++result.images;
    if (image.label >= 0 && result.classes > 0) ++result.labelled;
    for (std::size_t m = 0; m < (result.int8 ? 2U : 1U); ++m) {
      ModelScore& score = m == 0 ? result.fp32 : *result.int8;
      score.top1 += record.in_top1[m];
      score.top5 += record.in_top5[m];
      if (record.answered[m]) continue;
      if (score.unanswered.images++ == 0) score.unanswered.first = image.path;
    }
    if (result.int8 && record.top1[0] >= 0) result.agreement += record.top1[0] == record.top1[1];
  }

  static void merge(const OutputError& one, const ImageEntry& image, OutputError& total) {
    total.cosine += one.cosine;
    total.sqnr_db += one.sqnr_db;
    if (total.psnr_db) *total.psnr_db += one.psnr_db.value_or(0.0);
    if (total.lowest_sqnr_image.empty() || one.sqnr_db < total.lowest_sqnr_db) {
      total.lowest_sqnr_db = one.sqnr_db;
      total.lowest_sqnr_image = image.path;
    }
    total.max_abs_error = std::max(total.max_abs_error, one.max_abs_error);
  }

  static void finish(const SqnrSums& sums, std::int64_t images, OutputError& total) {
    const double count =
        images > 0 ? static_cast<double>(images) : std::nan("");  // no mean of none
    total.cosine /= count;
    total.sqnr_db /= count;
    if (total.psnr_db) *total.psnr_db /= count;
    total.pooled_sqnr_db = images > 0 ? sums.decibels() : count;
    if (images == 0) total.lowest_sqnr_db = total.max_abs_error = count;
  }

  void advance(std::int64_t images) {
    const std::lock_guard lock(progress_mutex_);
    done_ += images;
    report_progress(options_.progress, done_, std::ssize(images_.entries), "evaluation", "images");
  }

  const ImageSet& images_;
  const EvalOptions& options_;
  ModelPair pair_;
  std::int64_t classes_;
  AnswerReader answers_;
  std::vector<ImageRecord> records_;
  std::vector<std::vector<BadImage>> bad_;  // per entry, so that workers share no list
  std::vector<Worker> workers_;
  std::mutex progress_mutex_;
  std::int64_t done_ = 0;
};

void require_known_labels(const ImageSet& images, std::int64_t classes) {
  for (const ImageEntry& entry : images.entries) {
    if (entry.label < classes) continue;
    throw Error(ErrorCode::kUsage,
                concat("image '", entry.path.string(), "' has class ", entry.label,
                       ", the network knows classes 0 to ", classes - 1));
  }
}

}  // namespace

double EvalResult::images_per_second(const ModelScore& score) const {
  return score.run_seconds > 0.0 ? static_cast<double>(images) * workers / score.run_seconds : 0.0;
}

std::vector<std::string> EvalResult::doubts() const {
  std::vector<std::string> sentences;
  const auto add = [&](std::string_view model, const Unanswered& unanswered) {
    if (unanswered.images == 0) return;
    sentences.push_back(concat("the ", model, " model's outputs are NaN or infinite for ",
                               unanswered.images, " of ", images, " images, the first: '",
                               unanswered.first.string(), "'"));
  };
  add("FP32", fp32.unanswered);
  if (int8) add("INT8", int8->unanswered);
  if (near_chance) {
    sentences.push_back(concat(
        "FP32 top-1 is ", fp32.top1, " of ", labelled, " images, about what ", "guessing among ",
        classes, " classes gives: the preprocessing or the ", "labels are probably wrong"));
  }
  return sentences;
}

bool EvalResult::useless() const {
  const auto most = [&](const ModelScore& score) { return 2 * score.unanswered.images > images; };
  return most(fp32) || (int8 && most(*int8));
}

Shape first_shape(const ImageSet& images, const Preprocess& preprocess, BadImages policy) {
  std::vector<BadImage> bad;
  for (const ImageEntry& entry : images.entries) {
    const std::optional<Tensor> tensor = load_preprocessed(entry, preprocess, policy, bad);
    if (tensor) return tensor->shape();
  }
  throw Error(ErrorCode::kMismatch,
              concat("none of ", images.entries.size(), " images is usable",
                     bad.empty() ? std::string() : concat("; the first: ", bad.front().reason)));
}

std::int64_t classes_of(const Executor& executor, const Shape& input, int threads,
                        Requantization requantization) {
  const ModelPair pair = compile_pair(executor, nullptr, input, threads, requantization);
  return class_count(pair.fp32->outputs().front().shape,
                     input.rank() > 0 ? std::max<std::int64_t>(input[0], 1) : 1);
}

EvalResult evaluate(const Executor& fp32, const Executor* int8, const ImageSet& images,
                    const EvalOptions& options) {
  if (options.batch < 1) {
    throw Error(ErrorCode::kUsage, concat("batch: found ", options.batch, ", expected 1 or more"));
  }
  check(options.preprocess);
  std::vector<std::int64_t> dims =
      first_shape(images, options.preprocess, options.bad_images).dims();
  dims.front() = options.batch;
  ModelPair pair = compile_pair(fp32, int8, Shape(dims), 1, options.requantization);
  const Plan& plan = *pair.fp32;
  for (const PortInfo& port : plan.outputs()) {
    if (options.batch == 1 || (port.shape.rank() > 0 && port.shape[0] == options.batch)) continue;
    throw Error(ErrorCode::kUnsupported,
                concat("output '", port.name, "' has shape ", port.shape.to_string(),
                       ", expected the batch of ", options.batch, " in front; use batch 1"));
  }
  const bool scores = !options.answers.boxes && !options.answers.mask;
  const std::int64_t classes =
      scores ? class_count(plan.outputs().front().shape, options.batch) : 0;
  const bool ignore_labels = classes > 0 && options.labels == LabelSource::kFolders &&
                             !images.class_names.empty() &&
                             std::ssize(images.class_names) != classes;
  if (classes > 0 && !ignore_labels) require_known_labels(images, classes);

  const std::int64_t groups = ceil_div(std::ssize(images.entries), options.batch);
  const auto threads = static_cast<int>(
      std::min<std::int64_t>(resolve_threads(options.threads), std::max<std::int64_t>(groups, 1)));
  Evaluation evaluation(images, options, pair, classes, static_cast<std::size_t>(threads));
  parallel_items(groups, threads,
                 [&](std::int64_t group, int worker) { evaluation.run_group(group, worker); });
  EvalResult result = evaluation.result(plan);
  result.labels_ignored = ignore_labels;
  result.requantization = options.requantization;
  if (ignore_labels) {
    result.labelled = 0;
    for (ModelScore* score : {&result.fp32, result.int8 ? &*result.int8 : nullptr}) {
      if (score != nullptr) score->top1 = score->top5 = 0;
    }
  }
  result.near_chance = is_near_chance(result.fp32.top1, result.labelled, classes);
  return result;
}

}  // namespace qtool
