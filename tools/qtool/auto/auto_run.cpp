#include "auto/auto_run.h"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "auto/auto_files.h"
#include "auto/auto_lines.h"
#include "auto/auto_search.h"
#include "auto/detector_advice.h"
#include "auto/way_out.h"
#include "base/text.h"
#include "console.h"
#include "make_page.h"
#include "model.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/pipeline/make_model.h"
#include "quantize_warnings.h"
#include "report/first_model.h"
#include "run_evaluation.h"
#include "run_search.h"
#include "signals.h"
#include "step_display.h"
#include "terminal.h"
#include "write_model.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMinToHoldOut = 8;  // if there are fewer, all of them set ranges
constexpr const char* kCalibrationPart = "1/2";
constexpr const char* kComparisonPart = "2/2";

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
  summary.judged = std::move(made.learned.judged);
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

Models models_of(const AutoCommand& options) {
  Models models;
  models.fp32 = open_float_model(options.model);
  return models;
}

EvalOptions eval_options_of(const AutoCommand& options) {
  EvalOptions eval;
  eval.answers = options.outputs.read();
  return eval;
}

Recipe recipe_of(const AutoCommand& options) {
  Recipe recipe;
  recipe.target = options.target;
  recipe.effort = find_effort(options.effort).effort;
  return recipe;
}

/// One run of the command. Its functions are called in the order of run().
class AutoRun {
 public:
  AutoRun(AutoCommand& options, Command& command)
      : options_(options),
        command_(command),
        eval_(eval_options_of(options)),
        recipe_(recipe_of(options)),
        files_(files_of(options)),
        models_(models_of(options)),
        halves_(list([&] { return halves_of(options, graph()); })),
        lines_(options, command, recipe_, halves_, files_),
        samples_(list([&] { return halves_.calibrates.list(graph()); })),
        others_(halves_.compares.list(graph())),
        display_(options.run, std::string(samples_.noun())) {}

  void run() {
    options_.also_time.require_runtime();
    declare_files(options_, files_);
    if (!options_.search.empty()) require_room(recipe_.overrides, graph());
    prepare();
    make_first();
    compare();
    Advice advice = advice_now();
    made_.asked_to_search = !options_.search.empty();
    if (made_.asked_to_search && calls_for_search(advice)) advice = make_again(advice);
    times_ = options_.also_time.measure(models_, others_, eval_.preprocess,
                                        options_.images.policy(), options_.run);
    made_.times = times_.runtimes;
    show(advice);
    if (search_failure_) std::rethrow_exception(search_failure_);
    times_.require();
  }

 private:
  [[nodiscard]] const Model& fp32() const { return models_.fp32; }
  [[nodiscard]] const Graph& graph() const { return fp32().executor->graph(); }

  template <typename List>
  std::invoke_result_t<List> list(const List& from_options) const {
    return list_or_way_out(options_.model, options_.images.inputs, graph(), from_options);
  }

  /// Decides how images are prepared, and which boxes are read.
  void prepare() {
    made_.too_few = halves_.too_few;
    // Another target is proposed only to users who did not choose one.
    if (!command_.given("--target")) {
      made_.functions_left = count_functions(fp32().executor->whole_graph(), find_target("qtool"));
    }
    made_.preprocess = list([&] {
      return options_.preprocess.choose_for(options_.images, fp32().stored_preprocess(),
                                            fp32().loaded);
    });
    make_ = display_.options(fp32());
    make_.bad_images = options_.images.policy();
    if (!made_.preprocess) return;
    make_.preprocess = made_.preprocess->preprocess;
    eval_.preprocess = make_.preprocess;
    if (options_.outputs.say_nothing() && options_.images.labels.empty()) {
      recognise_boxes(command_, *fp32().executor, samples_, *made_.preprocess,
                      options_.images.policy());
      eval_.answers = options_.outputs.read();
    }
    if (const auto usual = usual_preprocessing(command_, *made_.preprocess); !usual.words.empty()) {
      made_.usual_for = usual.detector;
      made_.usual_options = usual.words;
      made_.usual_command = lines_.again(options_.target, usual, options_.search);
    }
  }

  /// Calibrates, quantizes, and writes table and model.
  void make_first() {
    LearnReport report;
    inputs_ = inputs_of_samples(*fp32().executor, recipe_, samples_, make_, report);
    made_.quantized.unused = {std::move(report.bad), samples_.passed_over()};
    if (report.doubt) warning(*report.doubt);
    made_.calibrated_on = inputs_.table.image_count;
    models_.calibrated_on = inputs_.table.image_ids;
    try {
      write();
    } catch (const Error& refusal) {
      display_.clear();
      keep_table(refusal, files_, inputs_.table);
      throw;
    }
    warn_of_broken_weights(*models_.int8);
    made_.commands = {lines_.calibrate()};
    made_.files = {files_.table, files_.model};
  }

  void write() {
    models_.int8 =
        write_both(options_, fp32(), recipe_, inputs_, samples_, make_, files_, made_.quantized);
  }

  void compare() {
    made_.compared =
        evaluate_with_progress(command_, models_, halves_.compares, others_, eval_, options_.run);
    require_useful(made_.compared);
  }

  /// The advice for the model as it is now. Its goal is one that a search can have on the samples
  /// that set the ranges.
  [[nodiscard]] Advice advice_now() const {
    Advice advice = advise(figures_of(made_));
    advice.goal = search_goal(advice, knows_classes(halves_.calibrates, samples_));
    return advice;
  }

  /// Searches for the goal of `advice`, and makes and compares the model that it finds. Returns the
  /// advice for that model, or `advice` if the search found nothing better, was stopped or failed.
  Advice make_again(const Advice& advice) {
    SearchResult found;
    try {
      found =
          search_with_progress(fp32(), inputs_, samples_,
                               search_options(options_.search, advice, eval_, make_), options_.run);
    } catch (const Error& error) {
      // The result of the first model comes first: show() ends the command after a request to stop.
      if (error.code() != ErrorCode::kCancelled) search_failure_ = std::current_exception();
      return advice;
    }
    if (found.end == SearchEnd::kInterrupted) return advice;
    made_.commands.push_back(lines_.search(advice.goal, kLeastIntegers));
    add_found(found.best, recipe_.overrides);
    made_.searched = FirstSearch{advice.why, std::move(found)};
    if (recipe_.overrides == Overrides{}) return advice;
    inputs_ = inputs_of_table(recipe_, std::move(inputs_.table), make_);
    write();
    made_.files.push_back(files_.overrides);
    compare();
    return advice_now();
  }

  /// Writes the page, if one was asked for, and prints the result.
  void show(const Advice& advice) {
    made_.commands.push_back(lines_.quantize(files_.model));
    made_.commands.push_back(lines_.eval(files_.model, halves_.compares.limit));
    made_.all_compared = advice.step == NextStep::kCompareMore && compares_all();
    const auto next = lines_.next(advice, made_);
    if (!options_.report.empty() && !interrupted()) write_report(next);
    options_.run.json ? print_result(json_of(made_, advice, next))
                      : print_text(text_of(made_, advice, next, result_columns()));
    stop_if_interrupted();
  }

  /// Whether --limit leaves out none of the samples to compare on.
  [[nodiscard]] bool compares_all() const { return halves_.compares.lists_all(graph(), others_); }

  /// The command that compares an improved model on more samples than those that the page chose it
  /// on; empty if there are no more.
  [[nodiscard]] CommandWords eval_on_more(const std::string& improved) const {
    if (others_.size() > kSamplesOfFirstPage) {
      return lines_.eval(improved, halves_.compares.limit);
    }
    return compares_all() ? CommandWords() : lines_.eval(improved, 0);
  }

  void write_report(const std::vector<CommandWords>& next) {
    const std::string improved =
        std::filesystem::path(files_.model).replace_extension(".improved.onnx").string();
    PageSubject subject{models_, others_, halves_.compares, made_.preprocess, eval_, options_.run};
    if (times_.in_qtool) subject.times = &*times_.in_qtool;
    MakingCommands making{lines_.quantize(improved, as_made(recipe_, inputs_))};
    making.eval = eval_on_more(improved);
    write_page_of(made_, subject, inputs_, halves_.calibrates, samples_, next, making,
                  options_.report);
  }

  AutoCommand& options_;
  Command& command_;
  EvalOptions eval_;
  Recipe recipe_;
  AutoFiles files_;
  Models models_;
  AutoHalves halves_;
  AutoLines lines_;
  Samples samples_;
  Samples others_;
  StepDisplay display_;
  MakeOptions make_;
  StaticInputs inputs_;
  FirstModel made_;
  MeasuredTimes times_;
  std::exception_ptr search_failure_;
};

}  // namespace

void run_auto(AutoCommand& options, Command& command) {
  options.run.apply();
  options.preprocess.read();
  AutoRun(options, command).run();
}

}  // namespace qtool::tool
