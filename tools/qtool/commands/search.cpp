#include "qtool/search/search.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/accuracy.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/overrides.h"
#include "options/resume.h"
#include "options/run.h"
#include "options/target.h"
#include "options/types.h"
#include "overwrite_check.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/graph/onnx.h"
#include "qtool/samples/hold_back.h"
#include "qtool/samples/samples.h"
#include "report/search.h"
#include "run_evaluation.h"
#include "run_search.h"
#include "signals.h"
#include "step_display.h"
#include "table_inputs.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxHashedFile = std::int64_t{1} << 33;

struct SearchCommand {
  std::string model;
  std::string table;
  std::string output;
  std::optional<double> min_sqnr;
  std::optional<double> min_agreement;
  std::optional<double> max_top1_drop;
  std::optional<double> min_boxes_kept;
  std::optional<double> max_boxes_added;
  double confidence = kDefaultConfidence;
  std::string budget = "5m";
  std::string max_latency_cost;
  std::string min_integer_macs;
  std::string target{kDefaultTarget};
  TypeOptions types;
  RewriteOptions rewrites;
  OverrideOptions overrides;
  AccuracyOptions accuracy;
  OutputOptions outputs;
  SampleOptions images;
  PreprocessOptions preprocess;
  ResumeOption resume;
  RunOptions run;
};

/// Reads `10` or `10%` as 0.1.
double share_of(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  return parse_double(text, "") / 100.0;
}

/// Accepts shares in [0, most].
Check share_up_to(double most, std::string expected) {
  return [=](const std::string& text) {
    try {
      const double value = share_of(text);
      if (value >= 0.0 && value <= most) return std::string();
    } catch (const Error&) {
      // reported below
    }
    return to_text("found '", text, "', expected ", expected);
  };
}

/// The goals that are given, of one kind or of several. All must be reached.
std::vector<SearchGoal> goals_of(const SearchCommand& options) {
  std::vector<SearchGoal> goals;
  const auto add = [&](const char* option, double value) -> SearchGoal& {
    return goals.emplace_back(goal_of(option, value, options.confidence));
  };
  if (options.min_sqnr) add("--min-sqnr", *options.min_sqnr);
  if (options.min_agreement) add("--min-agreement", *options.min_agreement);
  if (options.max_top1_drop) add("--max-top1-drop", *options.max_top1_drop);
  if (options.min_boxes_kept || options.max_boxes_added) {
    SearchGoal& goal = add("--min-boxes-kept", options.min_boxes_kept.value_or(0.0));
    goal.most_added = options.max_boxes_added.value_or(goal.most_added);
  }
  if (goals.empty()) {
    throw Error(ErrorCode::kUsage,
                "found no goal, expected one or more of --min-sqnr, --min-agreement, "
                "--max-top1-drop, --min-boxes-kept and --max-boxes-added");
  }
  return goals;
}

void require_labels(const SearchCommand& options, const Samples& samples) {
  if (!options.max_top1_drop || !options.images.labels.empty() || samples.class_names().empty())
    return;
  throw Error(ErrorCode::kUsage,
              "--max-top1-drop needs --labels: folders do not say which classes the network has");
}

/// A hash of everything in the command line, the model and the images that measurements depend on,
/// and of the way in which images are held back. The goals and the limits of the search are left
/// out.
std::uint64_t key_of(const Command& command, const Model& fp32, const Samples& samples) {
  const std::set<std::string> no_matter{
      "--output",        "--min-sqnr",        "--min-agreement",    "--min-boxes-kept",
      "--max-top1-drop", "--max-boxes-added", "--confidence",       "--budget",
      "--resume",        "--threads",         "--min-integer-macs", "--max-latency-cost",
      "--json",          "--quiet",           "--verbose"};
  std::uint64_t key = hash_bytes(to_text(QTOOL_VERSION " held back: ", kHeldOutPart, " ",
                                         kHoldOutParts, " ", kLeastForHoldOut, " ",
                                         fingerprint(fp32.loaded), " ", content_hash_of(samples)));
  for (const auto& option : command.options()) {
    const std::string name = option->name();
    if (no_matter.contains(name)) continue;
    const bool has_key = name == "model";  // the fingerprint of the model is in the key
    for (const std::string& value : option->values()) {
      key = hash_bytes(to_text(name, "=", value), key);
      std::error_code ec;
      if (!has_key && std::filesystem::is_regular_file(value, ec)) {
        key = hash_bytes(read_input(value, kMaxHashedFile), key);
      }
    }
  }
  return key;
}

void run_search(SearchCommand& options, const Command& command) {
  const Stopwatch since_begin;
  options.run.apply();
  SearchOptions search_options;
  search_options.goals = goals_of(options);
  search_options.budget_seconds = seconds_of_time(options.budget);
  if (!options.max_latency_cost.empty()) {
    search_options.max_latency_cost = share_of(options.max_latency_cost);
  }
  if (!options.min_integer_macs.empty()) {
    search_options.least_integer_share = share_of(options.min_integer_macs);
  }
  search_options.answers = options.outputs.read();
  options.preprocess.read();
  Recipe recipe;
  recipe.target = options.target;
  recipe.types = options.types.choices();
  recipe.rewrites = options.rewrites.names();
  options.accuracy.apply(command, options.images.given(), recipe);
  declare_output(options.output);
  options.resume.declare();
  // The overrides are written to JSON and read again here, so that the written file gives exactly
  // the models that were searched, whatever the order of its entries.
  recipe.overrides = read_overrides(to_json_text(options.overrides.read()));
  Model fp32 = open_model(options.model);
  require_room(recipe.overrides, fp32.executor->graph());
  Samples samples = options.images.list(fp32.executor->graph());
  samples.keep();  // every model runs them
  require_labels(options, samples);
  TypeOptions::require_effect(command, fp32.executor->graph(), options.model);
  StepDisplay display(options.run, std::string(samples.noun()));
  MakeOptions make = display.options(fp32);
  TableInputs made = inputs_of_table_file(fp32, options.table, recipe, make);
  const std::optional<SourcedPreprocess> preprocess =
      options.preprocess.choose_for(options.images, made.preprocess, fp32.loaded);
  if (preprocess) search_options.preprocess = preprocess->preprocess;
  search_options.bad_images = options.images.policy();
  make.preprocess = search_options.preprocess;
  make.bad_images = search_options.bad_images;
  make.stop = [&] {
    return interrupted() || since_begin.seconds() >= search_options.budget_seconds;
  };
  try {
    learn(*fp32.executor, recipe, samples, make, made.inputs);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled || interrupted()) throw;  // else: refused below
  }
  const std::unique_ptr<PartialResults> partial =
      options.resume.open(options.resume.given() ? key_of(command, fp32, samples) : 0);
  search_options.partial = partial.get();
  const double before = since_begin.seconds();
  if (before >= search_options.budget_seconds) {
    throw Error(ErrorCode::kUsage,
                to_text("--budget: found ", options.budget, ", but reading the model and learning ",
                        "from the images took ", to_fixed(before, 1), " seconds already"));
  }
  search_options.budget_seconds -= before;
  const SearchResult result =
      search_with_progress(fp32, made.inputs, samples, search_options, options.run);
  if (partial) result.end == SearchEnd::kComplete ? partial->remove() : partial->save();
  add_found(result.best, recipe.overrides);
  const std::string text = to_json_text(recipe.overrides);
  const OutputFile file{options.output, text};
  write_outputs({&file, 1});
  options.run.json ? print_result(json_of(result, preprocess))
                   : print_text(text_of(result, result_columns()));
  if (result.end == SearchEnd::kInterrupted) {
    throw Error(ErrorCode::kCancelled,
                to_text("stopped on request; '", options.output, "' holds the best so far"));
  }
  stop_if_interrupted();
  if (!result.reached) {
    throw Error(ErrorCode::kUnsupported,
                to_text("the goal of ", text_of(result.goals), " was not reached; '",
                        options.output, "' holds the nearest that was found"));
  }
  if (result.held_out && result.held_out->verdict == GoalVerdict::kMissed) {
    throw Error(ErrorCode::kUnsupported,
                to_text("the goal of ", text_of(result.goals),
                        " was reached on the images of the search, but not on those held back; '",
                        options.output, "' holds the model"));
  }
}

}  // namespace

void add_search(Program& program, Session& session) {
  const auto options = std::make_shared<SearchCommand>();
  Command& command = program.add_command(
      "search", "Find the nodes that must stay in FP32 to reach an accuracy",
      {"qtool search model.onnx --table model.table.json --images photos/calib --min-sqnr 30 "
       "-o overrides.json",
       "qtool quantize model.onnx --table model.table.json --overrides overrides.json"});
  add_model(command, options->model, " in FP32").required();
  command.option("--table", options->table, "Calibration table to quantize with")
      .required()
      .placeholder("FILE");
  command
      .option("-o,--output", options->output,
              "Overrides to write\n"
              "For qtool quantize --overrides.")
      .required()
      .placeholder("FILE");
  command
      .option("--min-sqnr", options->min_sqnr,
              "Goal: so many dB against FP32, of the worst output\n"
              "The pooled SQNR, as qtool eval judges. Several goals may be given; all "
              "of them must be reached.")
      .placeholder("DB")
      .check(decibels());
  command
      .option("--min-agreement", options->min_agreement,
              "Goal: percent of the answers that are FP32's\n"
              "Images with its class; with --mask, pixels with its class; with --boxes, its "
              "boxes that are kept, and 100 minus those added.")
      .placeholder("PERCENT")
      .check(percentage());
  command
      .option("--max-top1-drop", options->max_top1_drop,
              "Goal: points of top-1 accuracy lost at most")
      .placeholder("POINTS")
      .check(percentage());
  command
      .option("--min-boxes-kept", options->min_boxes_kept,
              "Goal: percent of FP32's boxes that must be kept\n"
              "From the lowest --box-score on, at IoU 0.7. Alone or with --max-boxes-added.")
      .placeholder("PERCENT")
      .check(percentage());
  command
      .option("--max-boxes-added", options->max_boxes_added,
              "Goal: boxes that FP32 does not have, in percent of FP32's")
      .placeholder("PERCENT")
      .check(number([](double value) { return value >= 0.0 && value <= 1e6; },
                    "a number from 0 to 1000000"));
  command
      .option("--confidence", options->confidence,
              "How sure a goal of agreement or boxes must be on other images\n"
              "50: the images that are searched on decide alone.")
      .placeholder("PERCENT")
      .check(number([](double value) { return value >= 50.0 && value <= 99.9; },
                    "a number from 50 to 99.9"))
      .show_default();
  command
      .option("--budget", options->budget,
              "Time to spend: 90s, 5m, 1h\n"
              "Up to a tenth more where a model is slow to make. "
              "The search ends earlier when nothing is left to try; what was found by then is "
              "written in any case.")
      .placeholder("TIME")
      .check(time_span())
      .show_default();
  command
      .option("--max-latency-cost", options->max_latency_cost,
              "Time of an image over the INT8 model's at most: 10%\n"
              "Measured on this machine with --threads threads. Without it, no time decides "
              "anything.")
      .placeholder("PERCENT")
      .check(share_up_to(1e6, "percent such as 10%"));
  command
      .option("--min-integer-macs", options->min_integer_macs,
              "Multiplications that stay on integers: 75%")
      .placeholder("PERCENT")
      .check(share_up_to(1.0, "0% to 100%"));
  add_target(command, options->target);
  options->types.add_to(command);
  options->rewrites.add_to(command, "as the table says");
  options->overrides.add_to(command, OverrideUse::kModel);
  options->accuracy.add_to(command, AccuracyUse::kSearch);
  options->images.add_to(command, SamplesUse::kMeasure);
  command.goes_with("--labels", {{"--max-top1-drop", {}}});
  command.goes_with("--confidence",
                    {{"--min-agreement", {}}, {"--min-boxes-kept", {}}, {"--max-boxes-added", {}}});
  options->outputs.add_to(command, PsnrUse::kNo);
  for (const char* option : {"--min-boxes-kept", "--max-boxes-added"}) {
    command.goes_with(option, {{"--boxes", {}}});
  }
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->resume.add_to(command);
  options->run.add_to(command);
  command.show_first({"model", "--table", "--images", "--output", "--min-sqnr", "--min-agreement",
                      "--min-boxes-kept", "--max-top1-drop", "--boxes", "--target", "--effort",
                      "--budget", "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_search(*options, command); };
  });
}

}  // namespace qtool::tool
