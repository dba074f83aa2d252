#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "checks.h"
#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_accuracy.h"
#include "options_images.h"
#include "options_outputs.h"
#include "options_quantization.h"
#include "options_run.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/measure/search.h"
#include "report/search.h"
#include "signals.h"
#include "table_recipe.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

constexpr double kMinSeconds = 1e-3;
constexpr double kMaxSeconds = 1e7;

struct SearchCommand {
  std::string model;
  std::string table;
  std::string output;
  std::optional<double> min_sqnr;
  std::optional<double> min_agreement;
  std::optional<double> max_top1_drop;
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
  RunOptions run;
};

/// A number before `unit`, which may be left out.
double number_before(std::string text, char unit) {
  if (!text.empty() && text.back() == unit) text.pop_back();
  return parse_double(text, "");
}

/// `90`, `90s`, `5m` or `1h` in seconds.
double seconds_of(const std::string& text) {
  if (text.ends_with('m')) return 60.0 * number_before(text, 'm');
  if (text.ends_with('h')) return 3600.0 * number_before(text, 'h');
  return number_before(text, 's');
}

/// `10` or `10%` as 0.1.
double share_of(const std::string& text) { return number_before(text, '%') / 100.0; }

/// Values that `value_of` takes and that lie in [least, most].
CLI::Validator within(double (*value_of)(const std::string&), double least, double most,
                      std::string expected) {
  return CLI::Validator(
      [=](const std::string& text) {
        try {
          const double value = value_of(text);
          if (value >= least && value <= most) return std::string();
        } catch (const Error&) {
          // told below
        }
        return concat("found '", text, "', expected ", expected);
      },
      "");
}

SearchGoal goal_of(const SearchCommand& options) {
  const int goals = (options.min_sqnr ? 1 : 0) + (options.min_agreement ? 1 : 0) +
                    (options.max_top1_drop ? 1 : 0);
  if (goals != 1) {
    throw Error(ErrorCode::kUsage, concat("found ", goals,
                                          " goals, expected one of --min-sqnr, --min-agreement "
                                          "and --max-top1-drop"));
  }
  if (options.min_sqnr) return {SearchGoal::Kind::kSqnr, *options.min_sqnr};
  if (options.min_agreement) return {SearchGoal::Kind::kAgreement, *options.min_agreement};
  return {SearchGoal::Kind::kTop1Drop, *options.max_top1_drop};
}

void require_labels(const SearchCommand& options, const Samples& samples) {
  if (!options.max_top1_drop || !options.images.labels.empty() || samples.class_names().empty())
    return;
  throw Error(ErrorCode::kUsage,
              "--max-top1-drop needs --labels: folders do not say which classes the network has");
}

void run_search(SearchCommand& options, const Command& command) {
  options.run.apply();
  SearchOptions search_options;
  search_options.goal = goal_of(options);
  search_options.budget_seconds = seconds_of(options.budget);
  search_options.threads = options.run.threads;
  if (!options.max_latency_cost.empty()) {
    search_options.most_slower = share_of(options.max_latency_cost);
  }
  if (!options.min_integer_macs.empty()) {
    search_options.least_integer_share = share_of(options.min_integer_macs);
  }
  search_options.answers = options.outputs.read();
  options.preprocess.read();
  options.accuracy.apply(command, options.images.given(), options.rewrites);
  declare_output(options.output);
  // What is written must give what was searched, whatever order the entries had.
  Overrides overrides = read_overrides(to_json_text(options.overrides.read()));
  Model fp32 = open_model(options.model);
  const Samples samples = options.images.list(fp32.executor->graph());
  require_labels(options, samples);
  TypeOptions::require_effect(command, fp32.executor->graph(), options.model);
  StaticOptions quantize_options;
  quantize_options.target = options.target;
  quantize_options.types = options.types.choices();
  quantize_options.rewrites = options.rewrites.names();
  quantize_options.threads = options.run.threads;
  TableRecipe made = recipe_of_table(fp32, options.table, overrides, std::move(quantize_options));
  const std::optional<SourcedPreprocess> preprocess =
      options.preprocess.choose_for(options.images, made.preprocess, fp32.loaded);
  if (preprocess) search_options.preprocess = preprocess->preprocess;
  search_options.bad_images = options.images.policy();
  options.accuracy.measure(fp32, made.recipe.table, samples, search_options.preprocess,
                           search_options.bad_images, options.run, made.recipe.options);
  search_options.stop = interrupted;
  search_options.announce = [&](const SearchCost& cost) {
    note(text_of(cost, options.run.threads));
  };
  const SearchResult result = [&] {
    ProgressDisplay progress("search", "seconds of the budget", options.run.progress_style(),
                             FinalLine::kNone);
    search_options.progress = progress.callback();
    return search(*fp32.executor, made.recipe, samples, search_options);
  }();
  overrides.exclude.insert(overrides.exclude.end(), result.best.exclude.begin(),
                           result.best.exclude.end());
  overrides.wide.insert(overrides.wide.end(), result.best.wide.begin(), result.best.wide.end());
  const std::string text = to_json_text(overrides);
  const OutputFile file{options.output, text};
  write_outputs({&file, 1});
  options.run.json ? print_result(json_of(result, preprocess))
                   : print_text(text_of(result, result_columns()));
  if (result.end == SearchEnd::kInterrupted) {
    throw Error(ErrorCode::kCancelled,
                concat("stopped on request; '", options.output, "' holds the best so far"));
  }
  if (!result.reached) {
    throw Error(ErrorCode::kUnsupported,
                concat("the goal of ", text_of(result.goal), " was not reached; '", options.output,
                       "' holds the nearest that was found"));
  }
}

}  // namespace

void add_search(CLI::App& app, Session& session) {
  const auto options = std::make_shared<SearchCommand>();
  Command* command = add_command(
      app, "search", "Find the nodes that must stay in FP32 to reach an accuracy",
      {"qtool search model.onnx --table model.table.json --images photos/calib --min-sqnr 30 "
       "-o overrides.json",
       "qtool quantize model.onnx --table model.table.json --overrides overrides.json"});
  command->add_option("model", options->model, "ONNX model in FP32")
      ->required()
      ->type_name("MODEL");
  command->add_option("--table", options->table, "Calibration table to quantize with")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("-o,--output", options->output,
                   "Overrides to write, for qtool quantize --overrides")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--min-sqnr", options->min_sqnr,
                   "Goal: so many dB against FP32, of the worst output\n"
                   "The mean over the images, as qtool eval prints it.")
      ->type_name("DB")
      ->check(decibels());
  const CLI::Validator percent =
      number([](double value) { return value >= 0.0 && value <= 100.0; }, "a number from 0 to 100");
  command
      ->add_option("--min-agreement", options->min_agreement,
                   "Goal: percent of the answers that are FP32's\n"
                   "Images with its class; with --mask, pixels with its class; with --boxes, its "
                   "boxes that are kept, and 100 minus those added.")
      ->type_name("PERCENT")
      ->check(percent);
  command
      ->add_option("--max-top1-drop", options->max_top1_drop,
                   "Goal: points of top-1 accuracy lost at most")
      ->type_name("POINTS")
      ->check(percent);
  command
      ->add_option("--budget", options->budget,
                   "Time to spend: 90s, 5m, 1h\n"
                   "The search ends earlier when nothing is left to try; what was found by then is "
                   "written in any case.")
      ->type_name("TIME")
      ->check(within(seconds_of, kMinSeconds, kMaxSeconds, "a time such as 90s, 5m or 1h"))
      ->capture_default_str();
  command
      ->add_option("--max-latency-cost", options->max_latency_cost,
                   "Time of an image over the INT8 model's at most: 10%\n"
                   "Measured on this machine with --threads threads. Without it, no time decides "
                   "anything.")
      ->type_name("PERCENT")
      ->check(within(share_of, 0.0, 1e6, "percent such as 10%"));
  command
      ->add_option("--min-integer-macs", options->min_integer_macs,
                   "Multiplications that stay on integers: 75%")
      ->type_name("PERCENT")
      ->check(within(share_of, 0.0, 1.0, "0% to 100%"));
  add_target(*command, options->target);
  options->types.add_to(*command);
  options->rewrites.add_to(*command, "as the table says");
  options->overrides.add_to(*command, OverrideUse::kModel);
  options->accuracy.add_to(*command, AccuracyUse::kSearch);
  options->images.add_to(*command, SamplesUse::kMeasure);
  command->goes_with("--labels", {{"--max-top1-drop", {}}});
  options->outputs.add_to(*command, PsnrUse::kNo);
  options->preprocess.add_to(*command);
  refuse_preprocess_of_tensors(*command);
  options->run.add_to(*command);
  command->show_first({"model", "--table", "--images", "--limit", "--output", "--min-sqnr",
                       "--min-agreement", "--max-top1-drop", "--budget", "--effort",
                       "--max-latency-cost", "--min-integer-macs", "--help"});
  command->callback([options, command, &session] {
    options->images.require_given();
    session.run = [options, command] { run_search(*options, *command); };
  });
}

}  // namespace qtool::tool
