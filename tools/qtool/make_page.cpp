#include "make_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_line.h"
#include "console.h"
#include "files.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "report/model_summary.h"
#include "report/shell.h"
#include "run_profile.h"
#include "signals.h"
#include "split_samples.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kSourcesOfFirstPage = 4;  // that changes are tried for

EvalOptions completed(const PageSubject& subject) {
  EvalOptions eval = subject.eval;
  eval.bad_images = subject.images.policy();
  eval.threads = subject.run.threads;
  return eval;
}

// The answers of both models to one image.
InferResult answer_to(const std::string& path, const Models& models, const EvalOptions& eval) {
  std::vector<BadImage> bad;
  std::vector<Tensor> sample;
  sample.push_back(*load_preprocessed({path, -1}, eval.preprocess, BadImages::kFail, bad));
  InferOptions options;
  options.threads = eval.threads;
  options.repeat = 1;
  options.answers = eval.answers;
  options.layout = eval.preprocess.layout;
  options.progress = [](std::int64_t, std::int64_t) {
    return interrupted() ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  return infer(*models.fp32.executor, models.int8_executor(), sample, options);
}

ProfileResult times_of(const PageSubject& subject, const EvalOptions& eval) {
  const std::vector<Tensor> first = first_sample(subject.samples, eval.preprocess, eval.bad_images);
  return profile_with_progress("time", subject.models, first, kRunsBeside, subject.run);
}

// Makes the suggestions of the page. A model that was rounded on images cannot be changed without
// samples to learn from.
void try_changes(const StaticInputs& inputs, const Samples& judge, const PageSubject& subject,
                 SuggestOptions options, Page& page) {
  if (!inputs.learned.rounded.empty() && !options.learning) {
    warning(to_text("no changes are tried: the weights of the model were rounded on the ",
                    subject.images.noun(), " that it is compared on, or on fewer than ",
                    kFewestToSplit));
    return;
  }
  try {
    ProgressDisplay progress("try changes", "runs", subject.run.progress_style(), FinalLine::kNone);
    options.progress = progress.callback();
    options.stop = interrupted;
    page.suggestions =
        suggest(*subject.models.fp32.executor, inputs, page.analysis, judge, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    warning(to_text("no changes are tried: ", error.what()));
  }
}

}  // namespace

Option& add_report(Command& command, std::string& report, const std::string& more) {
  return command
      .option("--report", report, to_text("Write the result as one HTML page too\n", more))
      .placeholder("FILE");
}

Page page_beside(const PageSubject& subject, EvalResult evaluation) {
  const Model& fp32 = subject.models.fp32;
  const Model& int8 = *subject.models.int8;
  const EvalOptions eval = completed(subject);
  Page page;
  page.preprocess = subject.preprocess;
  page.evaluation = std::move(evaluation);
  const bool draws = (eval.answers.boxes || eval.answers.mask) && subject.samples.are_images();
  page.worst =
      worst_images(page.evaluation, draws && eval.answers.boxes ? kBoxCandidates : kWorstImages);
  if (draws) {
    draw_answers_on(page.worst, kWorstImages, eval.preprocess,
                    [&](const std::string& path) { return answer_to(path, subject.models, eval); });
  }
  add_thumbnails(page.worst);
  page.latency = subject.times != nullptr ? *subject.times : times_of(subject, eval);
  page.fp32_bytes = summarize(fp32.loaded).parameter_bytes;
  page.int8_bytes = summarize(int8.loaded).parameter_bytes;
  for (NodeNames& names : names_of(fp32.executor->graph())) {
    page.nodes.push_back(std::move(names.node));
  }
  const SampleOptions& images = subject.images;
  page.provenance = {
      {"model", fp32.path},
      {"model's fingerprint", to_hex(fingerprint(fp32.loaded))},
      {subject.int8_label, int8.path},
      {"INT8 model's fingerprint", to_hex(fingerprint(int8.loaded))},
      {images.noun(), images.inputs.empty() ? images.images : images.inputs},
      {to_text("list of ", images.noun(), ", hash"), to_hex(hash_of(subject.samples))},
      {"command", shell_line(command_line())},
      {"program", "qtool " QTOOL_VERSION}};
  return page;
}

CalibrateOptions options_of_table(const CalibrationTable& table, std::string target) {
  CalibrateOptions options;
  options.target = std::move(target);
  options.types = table.types;
  options.rewrites = table.rewrites.names;
  options.method = table.method;
  options.method_options = table.method_options;
  return options;
}

void add_set_check(const Model& fp32, const Samples& calibrated_on, CalibrateOptions options,
                   const PageSubject& subject, Page& page) {
  if (calibrated_on.size() < kFewestToCheck) return;
  const Target target = calibration_target(options);
  options.collect.model_fingerprint = fingerprint(fp32.loaded);
  options.collect.bad_images = subject.images.policy();
  options.collect.threads = subject.run.threads;
  if (subject.preprocess) options.collect.preprocess = subject.preprocess->preprocess;
  ProgressDisplay progress("check the samples that set the ranges", subject.images.noun(),
                           subject.run.progress_style());
  options.collect.progress = progress_of_halves(progress.callback(), calibrated_on.size());
  const Calibration calibration(*fp32.executor, std::move(options));
  page.set = CheckedSet{check_set(calibration, target, calibrated_on), calibrated_on};
}

void write_page(const std::string& path, Page& page) {
  if (const std::optional<Overlap>& overlap = page.evaluation.overlap) {
    page.provenance.push_back({to_text(overlap->noun, "s that also set the ranges"),
                               to_text(overlap->common, " of ", overlap->samples)});
  }
  const std::string html = html_of(page);
  const OutputFile file{path, html};
  write_outputs({&file, 1});
}

void write_page_of(const FirstModel& made, const PageSubject& subject, const StaticInputs& inputs,
                   const SampleOptions& calibrates, const Samples& calibrated_on,
                   const std::vector<CommandWords>& next, const MakingCommands& making,
                   const std::string& path) {
  Page page = page_beside(subject, made.compared);
  page.calibrated_on = made.calibrated_on;
  page.functions_left = made.functions_left;
  page.searched = made.searched;
  page.next = next;
  page.commands = making;
  const Executor& fp32 = *subject.models.fp32.executor;
  SuggestOptions options;
  options.preprocess = completed(subject).preprocess;
  options.answers = subject.eval.answers;
  options.bad_images = subject.images.policy();
  options.threads = subject.run.threads;
  options.sources = kSourcesOfFirstPage;
  const Samples some = subject.samples.spread(kSamplesOfFirstPage);
  {
    ProgressDisplay progress("analyze", subject.images.noun(), subject.run.progress_style());
    AnalyzeOptions shown = options;
    shown.progress = progress.callback();
    page.analysis = analyze(fp32, *subject.models.int8->executor, some, shown);
  }
  const std::optional<Overlap>& overlap = made.compared.overlap;
  const bool same = made.too_few || (overlap && overlap->common == overlap->samples);
  if (!same && calibrated_on.size() >= kFewestToSplit) {
    options.learning = learning_samples(calibrates, fp32.graph(), options.preprocess);
  }
  try_changes(inputs, some, subject, options, page);
  add_set_check(subject.models.fp32, calibrated_on,
                options_of_table(inputs.table, inputs.options.target), subject, page);
  write_page(path, page);
}

}  // namespace qtool::tool
