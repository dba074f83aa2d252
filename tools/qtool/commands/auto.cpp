#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "auto/auto_lines.h"
#include "auto/detector_advice.h"
#include "auto/way_out.h"
#include "base/text.h"
#include "cli/checks.h"
#include "cli/program.h"
#include "console.h"
#include "files.h"
#include "make_page.h"
#include "model.h"
#include "options/accuracy.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/run.h"
#include "options/target.h"
#include "options/verify.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/pipeline/make_model.h"
#include "quantize_warnings.h"
#include "report/first_model.h"
#include "run_evaluation.h"
#include "run_search.h"
#include "shown_command.h"
#include "signals.h"
#include "step_display.h"
#include "terminal.h"
#include "write_model.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kDefaultLimit = 200;
constexpr std::int64_t kMinToHoldOut = 8;  // if there are fewer, all of them set ranges
constexpr const char* kCalibrationPart = "1/2";
constexpr const char* kComparisonPart = "2/2";

AutoFiles files_of(const AutoCommand& options) {
  const auto path = [&](const char* ending) {
    const std::string name = default_output(options.model, options.target, ending);
    return (std::filesystem::path(options.folder) / name).string();
  };
  return {path(".table.json"), path(".int8.onnx"), path(".overrides.json")};
}

AutoHalves halves_of(const AutoCommand& options, const Graph& graph) {
  AutoHalves halves{options.images, options.images};
  if (!options.compare.empty()) {
    halves.calibrates.labels.clear();
    halves.compares.images = options.compare;
    return halves;
  }
  halves.too_few = options.images.list_all(graph).size() < kMinToHoldOut;
  if (!halves.too_few) {
    halves.calibrates.part = kCalibrationPart;
    halves.compares.part = kComparisonPart;
  }
  return halves;
}

void make_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorCode::kIo,
                to_text("--output-dir '", folder, "': cannot be made: ", failure.message()));
  }
}

// Writes the table although the model is refused, because the table is still of use. If there is an
// older model, the table is not written, because it would not belong to that model.
void keep_table(const Error& refusal, const AutoFiles& files, const CalibrationTable& table) {
  std::error_code failure;
  if (refusal.code() == ErrorCode::kCancelled) return;
  if (std::filesystem::exists(files.model, failure)) return;
  const std::string bytes = write_table(table);
  const OutputFile file{files.table, bytes};
  write_outputs({&file, 1});
}

Model open_float_model(const std::string& path) {
  Model fp32 = open_model(path);
  if (const std::optional<NodeId> node = quantized_node(fp32.loaded)) {
    throw Error(ErrorCode::kUnsupported,
                to_text(fp32.loaded.describe(*node), ": the model is quantized already"));
  }
  warn_of_broken_weights(fp32);
  return fp32;
}

// Makes the model from its table, and writes both, with `overrides` if the recipe has some. Returns
// the written model, ready to run. `inputs` gets what the steps learned.
Model write_both(const AutoCommand& options, const Model& fp32, const Recipe& recipe,
                 StaticInputs& inputs, const Samples& samples, const MakeOptions& make,
                 const AutoFiles& files, QuantizationSummary& summary) {
  const std::string table = write_table(inputs.table);
  MadeModel made = make_model(*fp32.executor, recipe, inputs, &samples, make);
  inputs = std::move(made.inputs);
  summary.report = std::move(made.int8.report);
  warn_of(summary.report, files.table);
  Model int8;
  WriteModelOptions write;
  write.output = files.model;
  write.beside = {{files.table, table}};
  const std::string overrides = to_json_text(recipe.overrides);
  if (recipe.overrides != Overrides{}) write.beside.push_back({files.overrides, overrides});
  write.verify = [&](const WrittenModel& written) {
    int8 = written.open();
    return verify_with_progress(fp32, int8, samples, make, options.run, options.min_sqnr_db);
  };
  write_model(made.int8.graph, fp32, fp32.executor->whole_graph(), write, summary);
  return int8;
}

// The words of `advice` as a search for the goal that its figures miss.
SearchOptions search_options(const AutoCommand& options, const Advice& advice,
                             const EvalOptions& eval, const MakeOptions& make) {
  SearchOptions search;
  search.goals = {
      goal_of(advice.goal.at(0), parse_double(advice.goal.at(1), ""), kDefaultConfidence)};
  search.answers = eval.answers;
  search.preprocess = make.preprocess;
  search.bad_images = make.bad_images;
  search.budget_seconds = seconds_of_time(options.search);
  search.least_integer_share = static_cast<double>(kLeastIntegers) / 100.0;
  return search;
}

void run_auto(AutoCommand& options, Command& command) {
  options.run.apply();
  options.preprocess.read();
  EvalOptions eval;
  eval.answers = options.outputs.read();
  Recipe recipe;
  recipe.target = options.target;
  recipe.effort = find_effort(options.effort).effort;
  const AutoFiles files = files_of(options);
  Models models;
  models.fp32 = open_float_model(options.model);
  const Model& fp32 = models.fp32;
  const Graph& graph = fp32.executor->graph();
  const AutoHalves halves = list_or_way_out(options.model, options.images.inputs, graph,
                                            [&] { return halves_of(options, graph); });
  const AutoLines lines(options, command, recipe, halves, files);
  const Samples samples = list_or_way_out(options.model, options.images.inputs, graph,
                                          [&] { return halves.calibrates.list(graph); });
  const Samples others = halves.compares.list(graph);
  FirstModel made;
  made.too_few = halves.too_few;
  if (options.target == kDefaultTarget) {
    made.functions_left = count_functions(fp32.executor->whole_graph(), find_target("qtool"));
  }
  options.also_time.require_runtime();
  make_folder(options.folder);
  for (const std::string& file : {files.table, files.model}) declare_output(file);
  if (!options.report.empty()) declare_output(options.report);
  made.preprocess = list_or_way_out(options.model, options.images.inputs, graph, [&] {
    return options.preprocess.choose_for(options.images, fp32.stored_preprocess(), fp32.loaded);
  });
  if (made.preprocess) {
    if (options.outputs.say_nothing() && options.images.labels.empty()) {
      recognise_boxes(command, *fp32.executor, samples, *made.preprocess, options.images.policy());
      eval.answers = options.outputs.read();
    }
    if (const auto usual = usual_preprocessing(command, *made.preprocess); !usual.words.empty()) {
      made.usual_for = usual.detector;
      made.usual_options = usual.words;
      made.usual_command = lines.again(options.target, usual, options.search);
    }
  }
  StepDisplay display(options.run, std::string(samples.noun()));
  MakeOptions make = display.options(fp32);
  if (made.preprocess) make.preprocess = made.preprocess->preprocess;
  make.bad_images = options.images.policy();
  eval.preprocess = make.preprocess;
  LearnReport report;
  StaticInputs inputs = inputs_of_samples(*fp32.executor, recipe, samples, make, report);
  made.quantized.unused = {std::move(report.bad), samples.passed_over()};
  if (report.doubt) warning(*report.doubt);
  made.calibrated_on = inputs.table.image_count;
  models.calibrated_on = inputs.table.image_ids;
  try {
    models.int8 = write_both(options, fp32, recipe, inputs, samples, make, files, made.quantized);
  } catch (const Error& refusal) {
    display.clear();
    keep_table(refusal, files, inputs.table);
    throw;
  }
  warn_of_broken_weights(*models.int8);
  made.compared =
      evaluate_with_progress(command, models, halves.compares, others, eval, options.run);
  require_useful(made.compared);

  made.commands = {lines.calibrate()};
  made.files = {files.table, files.model};
  Advice advice = advise(figures_of(made));
  if (!options.search.empty() && !advice.goal.empty()) {
    SearchResult found = search_with_progress(
        fp32, inputs, samples, search_options(options, advice, eval, make), options.run);
    made.commands.push_back(lines.search(advice, kLeastIntegers));
    add_found(found.best, recipe.overrides);
    const bool stopped = found.end == SearchEnd::kInterrupted;
    made.searched = FirstSearch{advice.why, std::move(found)};
    if (recipe.overrides != Overrides{} && !stopped) {
      inputs = inputs_of_table(recipe, std::move(inputs.table), make);
      models.int8 = write_both(options, fp32, recipe, inputs, samples, make, files, made.quantized);
      made.files.push_back(files.overrides);
      made.compared =
          evaluate_with_progress(command, models, halves.compares, others, eval, options.run);
      advice = advise(figures_of(made));
    }
  }
  MeasuredTimes times = options.also_time.measure(models, others, eval.preprocess,
                                                  options.images.policy(), options.run);
  made.times = std::move(times.runtimes);
  made.commands.push_back(lines.quantize(files.model));
  made.commands.push_back(lines.eval(files.model, halves.compares.limit));
  const auto next = lines.next(advice, made);
  if (!options.report.empty() && !interrupted()) {
    const std::string improved =
        std::filesystem::path(files.model).replace_extension(".improved.onnx").string();
    const PageSubject subject{models, others, halves.compares, made.preprocess, eval, options.run};
    MakingCommands making{lines.quantize(improved)};
    making.eval = lines.eval(improved, halves.compares.limit);
    write_page_of(made, subject, inputs, halves.calibrates, samples, next, making, options.report);
  }
  options.run.json ? print_result(json_of(made, advice, next))
                   : print_text(text_of(made, advice, next, result_columns()));
  stop_if_interrupted();
  times.require();
}

}  // namespace

void add_auto(Program& program, Session& session) {
  const auto options = std::make_shared<AutoCommand>();
  Command& command = program.add_command(
      "auto", "Calibrate, quantize and compare in one go, and say what to do next",
      {"qtool auto model.onnx --images photos/calib --preprocess imagenet -o made",
       "qtool auto model.onnx --images photos/calib --compare photos/eval -o made"});
  add_model(command, options->model, " in FP32").required();
  command.option("-o,--output-dir", options->folder, "Folder for what is made (default: this one)")
      .placeholder("DIR");
  add_target(command, options->target);
  add_effort(command, options->effort, Efforts::kWithoutBudget);
  command
      .option("--search", options->search,
              "If INT8 loses too much, search this long: 10m\n"
              "Finds the nodes that must stay in FP32 and the tensors that need 16 bits, as qtool "
              "search does, on the images that set the ranges. At least 75% of the "
              "multiplications stay on integers.")
      .placeholder("TIME")
      .check(time_span());
  add_report(command, options->report,
             "It says the verdict first, then what the accuracy is lost by; see qtool analyze. "
             "It takes as long as qtool analyze on 50 samples.");
  options->images.limit = kDefaultLimit;
  options->images.add_to(command, SamplesUse::kMeasure);
  // auto divides the images itself: half of them set the ranges, and the models are compared on the
  // other half.
  command.remove("--part");
  command.find("--limit")
      .text("At most N to calibrate, N to compare\n0 = all; spread evenly.")
      .show_default(to_text(kDefaultLimit));
  command
      .option("--compare", options->compare,
              "Folder or list of other images to compare on\n"
              "Without it, half of --images is held out for that.")
      .placeholder("DIR")
      .group("Images");
  command.not_with("--compare", {{"--inputs", {}}});
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->outputs.add_to(command);
  options->outputs.allow_no_boxes(command);
  add_verify_limit(command, options->min_sqnr_db);
  options->also_time.add_to(command);
  options->run.add_to(command);
  command.show_first({"model", "--images", "--inputs", "--compare", "--labels", "--limit",
                      "--preprocess", "--target", "--effort", "--search", "--boxes", "--report",
                      "--output-dir", "--json", "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_auto(*options, command); };
  });
}

}  // namespace qtool::tool
