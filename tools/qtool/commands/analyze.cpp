#include "qtool/analyze/analyze.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "make_page.h"
#include "making_commands.h"
#include "model.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/overrides.h"
#include "options/run.h"
#include "options/target.h"
#include "overwrite_check.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/overrides.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "qtool/samples/samples.h"
#include "report/analysis.h"
#include "report/evaluation.h"
#include "report/page/baseline.h"
#include "report/page/page.h"
#include "report/suggestions.h"
#include "run_evaluation.h"
#include "signals.h"
#include "split_samples.h"
#include "step_display.h"
#include "table_file.h"
#include "table_inputs.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct AnalyzeCommand {
  std::string model;
  std::string int8;
  std::string table;
  std::string target{kDefaultTarget};
  std::int64_t top = 20;
  std::int64_t suggest = 8;
  std::string report;
  std::string calibrated_on;  // images
  std::string baseline;       // the JSON of an earlier analysis
  OverrideOptions overrides;
  SampleOptions images;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  RunOptions run;
};

/// The subject of the analysis: the models, the table and the inputs to make the INT8 model again,
/// and the statistics and preprocessing that belong to them.
struct Subject {
  Models models;
  std::string table;                 // its path; empty if it is not known
  std::optional<StaticInputs> base;  // none if the INT8 model does not show it
  std::optional<Collection> statistics;
  std::optional<StoredPreprocess> preprocess;
};

// Statistics saved with the table, if there are any.
std::optional<Collection> statistics_of(const std::string& table) {
  if (!std::filesystem::exists(statistics_beside(table))) return std::nullopt;
  try {
    return read_statistics(table, "--table");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kMismatch) throw;
    warning(to_text(error.what(), "; no other methods are tried"));
    return std::nullopt;
  }
}

// The INT8 model that qtool quantize makes from the table.
Subject subject_of_table(const AnalyzeCommand& options) {
  Subject subject;
  Model& fp32 = subject.models.fp32;
  fp32 = open_model(options.model);
  Recipe recipe;
  recipe.target = options.target;
  recipe.overrides = options.overrides.read();
  StepDisplay display(options.run, "");  // no step of this recipe runs samples
  const MakeOptions make = display.options(fp32);
  TableInputs made = inputs_of_table_file(fp32, options.table, recipe, make);
  subject.preprocess = std::move(made.preprocess);
  Model int8;
  int8.path = options.table;
  int8.loaded = make_model(*fp32.executor, recipe, made.inputs, nullptr, make).int8.graph;
  int8.executor = std::make_unique<Executor>(prepare(int8.loaded, interrupted), interrupted);
  subject.models.int8 = std::move(int8);
  subject.statistics = statistics_of(options.table);
  subject.models.calibrated_on = made.inputs.table.image_ids;
  subject.base = std::move(made.inputs);
  subject.table = options.table;
  return subject;
}

// Takes the table that lies beside the model. False if another model would be made of it.
bool take_table_beside(Subject& subject) {
  const Models& models = subject.models;
  if (!models.table) return false;
  try {
    subject.base = recovered_options(models.fp32.executor->whole_graph(), models.int8->loaded,
                                     models.table->table);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    note(to_text("table '", models.table->path, "' is not used: ", error.what()));
    return false;
  }
  subject.base->options.version = QTOOL_VERSION;
  subject.table = models.table->path;
  subject.statistics = statistics_of(subject.table);
  note(to_text("changes are tried with table '", subject.table, "', which made the model"));
  return true;
}

Subject subject_of_model(const AnalyzeCommand& options) {
  Subject subject;
  subject.models = open_models(options.model, options.int8);
  subject.preprocess = stored_preprocess_of(subject.models);
  if (options.suggest == 0 || take_table_beside(subject)) return subject;
  try {
    subject.base = recovered_table_and_options(subject.models.fp32.executor->graph(),
                                               subject.models.int8->executor->graph());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    warning(to_text("no changes are tried: ", error.what()));
  }
  return subject;
}

std::optional<SuggestResult> suggestions_of(const AnalyzeCommand& options, const Subject& subject,
                                            const AnalyzeResult& analysis, const Samples& samples,
                                            const AnalyzeOptions& analyze_options,
                                            const AnswerOptions& answers) {
  if (!subject.base || options.suggest == 0) return std::nullopt;
  ProgressDisplay progress("try changes", "runs", options.run.progress_style(), FinalLine::kNone);
  SuggestOptions suggest_options;
  static_cast<AnalyzeOptions&>(suggest_options) = analyze_options;
  suggest_options.answers = answers;
  suggest_options.progress = progress.callback();
  suggest_options.sources = options.suggest;
  suggest_options.statistics = subject.statistics ? &*subject.statistics : nullptr;
  suggest_options.stop = interrupted;
  const bool learns = !subject.table.empty() && (!samples.are_images() || subject.preprocess);
  LearnAndJudge split{std::nullopt, samples};
  if (learns) {
    const Preprocess prepared = subject.preprocess ? subject.preprocess->preprocess : Preprocess();
    split = split_samples(options.images, subject.models.fp32.executor->graph(), prepared, samples);
  }
  suggest_options.learning = std::move(split.learn);
  const bool is_corrected = subject.base->options.bias_correction == BiasCorrection::kSequential;
  if ((is_corrected || !subject.base->learned.rounded.empty()) && !subject.table.empty() &&
      !suggest_options.learning) {
    const std::string_view what =
        is_corrected ? "biases of the model were corrected" : "weights of the model were rounded";
    warning(to_text("no changes are tried: the ", what,
                    " on images, and a change needs images to learn "
                    "from; give ",
                    kFewestToSplit, " or more"));
    return std::nullopt;
  }
  try {
    return suggest(*subject.models.fp32.executor, *subject.base, analysis, split.judge,
                   suggest_options);
  } catch (const Error& error) {
    // quantize() may be unable to make the model of another tool for any of its targets.
    if (error.code() == ErrorCode::kCancelled || !options.table.empty()) throw;
    warning(to_text("no changes are tried: ", error.what()));
    return std::nullopt;
  }
}

// What the page says besides the figures of both models. `has_more`: whether --limit left samples
// out.
void complete_page(const AnalyzeCommand& options, const Command& command, const Subject& subject,
                   const PageSubject& page_subject, bool has_more, Page& page) {
  const Models& models = subject.models;
  if (subject.base && subject.base->table.image_count > 0) {
    page.calibrated_on = subject.base->table.image_count;
  } else if (!models.calibrated_on.empty()) {
    page.calibrated_on = std::ssize(models.calibrated_on);
  }
  if (!options.table.empty() && options.target == kDefaultTarget) {
    page.functions_left =
        count_functions(models.fp32.executor->whole_graph(), find_target("qtool"));
  }
  if (const std::optional<Advice> advice = advice_of(page)) {
    page.next =
        next_commands(options.model, options.int8, options.table, command, *advice, has_more);
  }
  if (options.calibrated_on.empty()) return;
  SampleOptions images;
  images.images = options.calibrated_on;
  images.strict = options.images.strict;
  CalibrateOptions calibrate_options;
  calibrate_options.target = options.target;
  if (!options.table.empty() && subject.base) {
    calibrate_options = options_of_table(subject.base->table, options.target);
  }
  add_set_check(models.fp32, images.list(models.fp32.executor->graph()),
                std::move(calibrate_options), page_subject, page);
}

void run_analyze(AnalyzeCommand& options, const Command& command) {
  options.run.apply();
  if (!options.report.empty()) declare_output(options.report);
  if (options.int8.empty() == options.table.empty()) {
    throw Error(ErrorCode::kUsage,
                "analyze needs either --int8, or --table to make the INT8 model from");
  }
  std::optional<EarlierReport> baseline;
  if (!options.baseline.empty()) {
    baseline = read_report(read_input(options.baseline, kMaxReportBytes),
                           to_text("--baseline '", options.baseline, "'"));
  }
  options.preprocess.read();
  EvalOptions eval;
  eval.answers = options.outputs.read();
  const bool asks = !options.images.labels.empty() || eval.answers.boxes || eval.answers.mask;
  const Subject subject =
      options.table.empty() ? subject_of_model(options) : subject_of_table(options);
  const Models& models = subject.models;
  const Samples samples = options.images.list(models.fp32.executor->graph());

  AnalyzeOptions analyze_options;
  const std::optional<SourcedPreprocess> preprocess =
      options.preprocess.choose_for(options.images, subject.preprocess, models.fp32.loaded);
  if (preprocess) analyze_options.preprocess = eval.preprocess = preprocess->preprocess;
  analyze_options.bad_images = options.images.policy();
  analyze_options.threads = options.run.threads;
  PageSubject page_subject{models, samples, options.images, preprocess, eval, options.run};
  if (!options.table.empty()) page_subject.int8_label = "INT8 model of the table";
  std::optional<EvalResult> compared;
  std::optional<Page> page;
  if (asks || !options.report.empty()) {
    compared = evaluate_with_progress(command, models, options.images, samples, eval, options.run);
  }
  if (!options.report.empty()) page = page_beside(page_subject, *compared);
  AnalyzeResult result = [&] {
    ProgressDisplay progress("analyze", options.images.noun(), options.run.progress_style());
    AnalyzeOptions shown = analyze_options;
    shown.progress = progress.callback();
    return analyze(*models.fp32.executor, *models.int8->executor, samples, shown);
  }();
  result.overlap = compared
                       ? compared->overlap
                       : overlap_unless_stopped(models.calibrated_on, samples, options.run.threads);
  result.model_fingerprint = fingerprint(models.fp32.loaded);
  result.samples_hash = hash_of(samples);
  // After a request to stop, what is known is printed and nothing more is tried.
  std::optional<SuggestResult> suggestions;
  if (!interrupted()) {
    suggestions = suggestions_of(options, subject, result, samples, analyze_options, eval.answers);
  }
  const bool has_more = page && !options.images.lists_all(models.fp32.executor->graph(), samples);
  MakingCommands commands;
  if (!subject.table.empty()) {
    commands = making_commands_of(options.model, subject.table, *subject.base,
                                  options.table.empty() ? nullptr : &command);
    if (has_more) commands.eval = eval_of_improved(options.model, *subject.base, command);
  }
  std::optional<ReportChange> change;
  if (baseline) change = change_since(*baseline, result);
  if (page && !interrupted()) {
    page->change = change;
    page->analysis = result;
    page->suggestions = suggestions;
    page->commands = commands;
    complete_page(options, command, subject, page_subject, has_more, *page);
    write_page(options.report, *page);
  }
  if (options.run.json) {
    print_result(
        json_of(result, preprocess, suggestions, commands, asks ? &*compared : nullptr, change));
    return stop_if_interrupted();
  }
  if (asks) print_text(to_text(text_of(*compared, result_columns()), "\n"));
  print_text(text_of(result, static_cast<std::size_t>(options.top), result_columns()));
  if (change) print_text(to_text("\n", text_of(*change, result.noun, result_columns())));
  if (suggestions) print_text(to_text("\n", text_of(*suggestions, commands)));
  stop_if_interrupted();
}

}  // namespace

void add_analyze(Program& program, Session& session) {
  const auto options = std::make_shared<AnalyzeCommand>();
  Command& command = program.add_command(
      "analyze", "Find the tensors and weights that an INT8 model loses its accuracy by",
      {"qtool analyze model.onnx --int8 model.int8.onnx --images photos/eval --limit 50",
       "qtool analyze model.onnx --table model.table.json --images photos --report page.html"});
  add_model(command, options->model, " in FP32").required();
  command.option("--int8", options->int8, "Quantized model of the same network")
      .placeholder("MODEL");
  command
      .option("--table", options->table,
              "Calibration table to quantize with, instead of --int8\n"
              "Where its statistics were saved, other methods are tried too.")
      .placeholder("FILE");
  add_target(command, options->target);
  options->overrides.add_to(command, OverrideUse::kModel);
  for (const char* option :
       {"--target", "--exclude", "--range", "--scale", "--wide", "--overrides"}) {
    command.goes_with(option, {{"--table", {}}});
  }
  command.option("--top", options->top, "Sources to list, the worst first; 0 lists all")
      .placeholder("N")
      .check(whole_number(0, 1000000))
      .show_default();
  command.not_with("--top", {{"--json", {}}});
  command
      .option("--suggest", options->suggest,
              "Sources to try changes for, the worst first; 0 tries none\n"
              "Each change is made and run on images; the ones that bring 0.5 dB or more are "
              "printed as commands; with --int8 and no table beside it, as options for the "
              "command that made the model. With --boxes or --mask, each one also says what it "
              "keeps of the answers of FP32.")
      .placeholder("N")
      .check(whole_number(0, 1000))
      .show_default();
  add_report(command, options->report,
             "The file needs nothing else and no network; it also says accuracy and time of "
             "both models.");
  command
      .option("--baseline", options->baseline,
              "Output of an earlier analyze --json: say what changed since then")
      .placeholder("FILE");
  command
      .option("--calibrated-on", options->calibrated_on,
              "Folder or list of the images that set the ranges\n"
              "The page then says whether they are enough, and which of them stand out.")
      .placeholder("DIR");
  options->outputs.add_to(command, PsnrUse::kNo);
  command.goes_with("--calibrated-on", {{"--report", {}}});
  options->images.add_to(command, SamplesUse::kMeasure);
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  command.not_with("--calibrated-on", {{"--inputs", {}}});
  options->run.add_to(command);
  command.show_first({"model", "--int8", "--table", "--images", "--inputs", "--limit",
                      "--preprocess", "--top", "--suggest", "--report", "--threads", "--json",
                      "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_analyze(*options, command); };
  });
}

}  // namespace qtool::tool
