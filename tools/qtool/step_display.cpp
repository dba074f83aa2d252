#include "step_display.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "console.h"
#include "qtool/graph/onnx.h"
#include "quantize_warnings.h"
#include "report/quantization.h"
#include "signals.h"

namespace qtool::tool {
namespace {

void print_tuning(const LearnReport& report, std::string_view noun) {
  if (report.tuning_ran_out_of_time) {
    note("tuned ranges: half of --budget was too little, the table's stay");
    return;
  }
  const RangeTuning& tuned = report.tuning.value();
  const std::string_view kept = tuned.refused          ? ", too little: the table's stay"
                                : tuned.ranges.empty() ? ": the table's stay"
                                                       : "";
  note(to_text("tuned ranges: ", tuned.ranges.size(), " changed, ", tuned.tried, " tried; ",
               to_fixed(tuned.before_db, 2), " -> ", to_fixed(tuned.after_db, 2), " dB on ", noun,
               "s kept aside", kept));
}

void print_step(const RecipeStep& step, const LearnReport& report, std::string_view noun) {
  if (step.name == "tune_ranges") print_tuning(report, noun);
  if (step.name == "judge_choices") {
    for (const JudgedChoice& choice : report.judged) note(text_of(choice, noun));
  }
  if (step.name == "calibrate" && report.pairs) print_pairs(*report.pairs, noun);
  if (step.name == "round_weights" && report.nothing_was_rounded) {
    warning(
        "--weight-rounding: no layer is such that it can be rounded on images within "
        "--rounding-memory; all are rounded to nearest");
  }
}

// The words for a step: `round weights`.
std::string task_of(const RecipeStep& step) {
  std::string task(step.name);
  std::ranges::replace(task, '_', ' ');
  return task;
}

}  // namespace

StepDisplay::StepDisplay(const RunOptions& run, std::string noun)
    : threads_(run.threads), style_(run.progress_style()), noun_(std::move(noun)) {}

MakeOptions StepDisplay::options(const Model& fp32) {
  MakeOptions options;
  options.threads = threads_;
  options.model_fingerprint = fingerprint(fp32.loaded);
  options.version = QTOOL_VERSION;
  options.stop = interrupted;
  options.begin = [this](const RecipeStep& step) {
    if (step.needs != StepNeeds::kSamples) return Progress();
    progress_.emplace(task_of(step), to_text(noun_, "s", step.counts), style_);
    return progress_->callback();
  };
  options.end = [this](const RecipeStep& step, const LearnReport& report) {
    progress_.reset();
    print_step(step, report, noun_);
  };
  return options;
}

}  // namespace qtool::tool
