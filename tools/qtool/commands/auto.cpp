#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/accuracy.h"
#include "options/images.h"
#include "options/outputs.h"
#include "options/quantization.h"
#include "options/run.h"
#include "options/verify.h"
#include "program/program.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "report/first_model.h"
#include "signals.h"
#include "steps.h"
#include "terminal.h"

namespace qtool::tool {

void add_calibrate(Program& program, Session& session);
void add_quantize(Program& program, Session& session);
void add_eval(Program& program, Session& session);

namespace {

constexpr std::int64_t kDefaultLimit = 200;
constexpr std::int64_t kMinToHoldOut = 8;  // if there are fewer, all of them set ranges
constexpr const char* kCalibrationPart = "1/2";
constexpr const char* kComparisonPart = "2/2";
constexpr const char* kMinIntegers = "75%";  // the search must keep this share on integers

struct AutoCommand {
  std::string model;
  std::string folder;
  std::string compare;
  std::string target{kDefaultTarget};
  std::string effort = "balanced";
  double min_sqnr_db = kDefaultVerifyDb;
  SampleOptions images;
  PreprocessOptions preprocess;
  OutputOptions outputs;
  RunOptions run;
};

struct Files {
  std::string table;
  std::string model;
  std::string overrides;  // the file that a search would write
};

Files files_of(const AutoCommand& options) {
  const auto path = [&](const char* ending) {
    const std::string name = default_output(options.model, options.target, ending);
    return (std::filesystem::path(options.folder) / name).string();
  };
  return {path(".table.json"), path(".int8.onnx"), path(".overrides.json")};
}

// Whether the models are compared on other samples than those that set the ranges. Lists all
// samples, so that errors in the lists show before any work.
bool holds_out(const AutoCommand& options, const Graph& graph) {
  if (!options.compare.empty()) {
    SampleOptions others = options.images;
    others.images = options.compare;
    static_cast<void>(others.list_all(graph));
    SampleOptions own = options.images;
    own.labels.clear();
    static_cast<void>(own.list(graph));
    return true;
  }
  return options.images.list_all(graph).size() >= kMinToHoldOut;
}

// The command lines of the steps.
struct Lines {
  StepLine calibrate;
  StepLine quantize;
  StepLine eval;
};

void take_samples(const AutoCommand& options, const Command& command, const char* part,
                  StepLine& line) {
  line.take(command, {"--images", "--inputs"});
  if (part != nullptr) line.value("--part", part);
  line.value("--limit", to_text(options.images.limit));
  line.take(command, {"--strict"});
}

Lines lines_of(const AutoCommand& options, const Command& command, const Files& files,
               bool held_out) {
  const bool parted = held_out && options.compare.empty();
  Lines lines{{"calibrate", options.model}, {"quantize", options.model}, {"eval", options.model}};
  take_samples(options, command, parted ? kCalibrationPart : nullptr, lines.calibrate);
  lines.calibrate.take_group(command, "Preprocessing");
  lines.calibrate.take(command, {"--target", "--threads"});
  lines.calibrate.value("--output", files.table);

  lines.quantize.value("--table", files.table);
  lines.quantize.value("--effort", options.effort);
  take_samples(options, command, parted ? kCalibrationPart : nullptr, lines.quantize);
  lines.quantize.flag("--verify");
  lines.quantize.take(command, {"--min-sqnr", "--target", "--threads"});
  lines.quantize.value("--output", files.model);

  lines.eval.value("--int8", files.model);
  if (options.compare.empty()) {
    take_samples(options, command, parted ? kComparisonPart : nullptr, lines.eval);
  } else {
    lines.eval.value("--images", options.compare);
    lines.eval.value("--limit", to_text(options.images.limit));
    lines.eval.take(command, {"--strict"});
  }
  lines.eval.take(command, {"--labels"});
  lines.eval.take_group(command, "Outputs");
  lines.eval.take(command, {"--threads"});
  return lines;
}

// The command line of auto itself, to repeat it with other samples or another preprocessing.
StepLine own_line(const AutoCommand& options, const Command& command) {
  StepLine line("auto", options.model);
  line.take(command,
            {"--target", "--effort", "--min-sqnr", "--output-dir", "--labels", "--threads"});
  line.take_group(command, "Outputs");
  return line;
}

// The command lines for the next step.
std::vector<CommandWords> commands_of(const Advice& advice, const AutoCommand& options,
                                      const Command& command, const Files& files,
                                      const FirstModel& made, const Lines& lines) {
  switch (advice.step) {
    case NextStep::kNamePreprocessing: {
      StepLine again = own_line(options, command);
      again.take(command, {"--images", "--inputs", "--compare", "--limit", "--strict"});
      again.take_group(command, "Preprocessing");
      again.value("--preprocess", "NAME");
      return {{"qtool", "help", "presets"}, again.words()};
    }
    case NextStep::kAddSamples: {
      StepLine again = own_line(options, command);
      again.value(options.images.inputs.empty() ? "--images" : "--inputs", "DIR");
      again.take(command, {"--strict"});
      again.take_group(command, "Preprocessing");
      return {again.words()};
    }
    case NextStep::kOtherTarget: {
      StepLine again("auto", options.model);
      again.take(command, {"--images", "--inputs", "--compare", "--limit", "--strict"});
      again.take_group(command, "Preprocessing");
      again.value("--target", "qtool");
      again.take(command, {"--effort", "--min-sqnr", "--output-dir", "--labels", "--threads"});
      again.take_group(command, "Outputs");
      return {again.words()};
    }
    case NextStep::kKeepNodes: {
      StepLine search("search", options.model);
      search.value("--table", files.table);
      const bool parted = made.held_out && options.compare.empty();
      take_samples(options, command, parted ? kCalibrationPart : nullptr, search);
      search.value(advice.goal.at(0), advice.goal.at(1));
      search.value("--min-integer-macs", kMinIntegers);
      if (advice.goal.at(0) == "--max-top1-drop") search.take(command, {"--labels"});
      search.take(command, {"--boxes", "--box-score", "--nms-iou", "--mask", "--target"});
      search.value("--effort", options.effort);
      search.value("--output", files.overrides);
      CommandWords quantize = lines.quantize.words();
      quantize.insert(quantize.end(), {"--overrides", files.overrides});
      return {search.words(), std::move(quantize)};
    }
    case NextStep::kInspect: {
      StepLine inspect("inspect", options.model);
      inspect.take(command, {"--target"});
      return {inspect.words()};
    }
    case NextStep::kCheckSamples:
    case NextStep::kUse:
      break;
  }
  StepLine infer("infer", options.model);
  infer.value("--int8", files.model);
  const std::vector<OutputError>& outputs = made.compared.outputs;
  if (!options.images.inputs.empty()) {
    infer.value("--inputs", options.images.inputs);
  } else if (!outputs.empty()) {
    infer.value("--image", outputs.front().lowest_sqnr_image.string());
  }
  infer.take(command, {"--labels", "--boxes", "--nms-iou", "--mask"});
  return {infer.words()};
}

void make_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorCode::kIo,
                concat("--output-dir '", folder, "': cannot be made: ", failure.message()));
  }
}

// Writes the table although the model is refused, because the table is still of use. If there is an
// older model, the table is not written, because it would not belong to that model.
void keep_table(const Error& refusal, const Files& files) {
  std::error_code failure;
  if (refusal.code() == ErrorCode::kCancelled) return;
  if (!std::filesystem::exists(files.model, failure)) write_held_outputs();
}

void run_auto(AutoCommand& options, const Command& command) {
  options.run.apply();
  options.preprocess.read();
  static_cast<void>(options.outputs.read());
  const Files files = files_of(options);
  bool held_out = false;
  FirstModel made;
  {
    const Graph loaded = load_model(options.model);
    if (const std::optional<NodeId> node = quantized_node(loaded)) {
      throw Error(ErrorCode::kUnsupported,
                  concat(loaded.describe(*node), ": the model is quantized already"));
    }
    const Graph prepared = prepare(loaded, interrupted);
    held_out = holds_out(options, prepared);
    if (options.target == kDefaultTarget) {
      made.functions_left = count_functions(prepared, find_target("qtool"));
    }
  }
  make_folder(options.folder);
  for (const std::string& file : {files.table, files.model}) declare_output(file);

  const Lines lines = lines_of(options, command, files, held_out);
  std::vector<std::string> quietly;
  if (options.run.quiet) quietly.emplace_back("--quiet");
  if (options.run.verbose) quietly.emplace_back("--verbose");
  StepResults results;
  const std::array<std::pair<AddCommand, const StepLine*>, 3> steps = {
      {{&add_calibrate, &lines.calibrate},
       {&add_quantize, &lines.quantize},
       {&add_eval, &lines.eval}}};
  hold_next_outputs();  // the table is written together with the model made from it
  for (const auto& [add, line] : steps) {
    try {
      run_step(add, line->words(), quietly, results);
    } catch (const Error& refusal) {
      keep_table(refusal, files);
      throw;
    }
    made.commands.push_back(line->words());
  }
  made.calibrated_on = results.calibrated->samples;
  made.preprocess = std::move(results.calibrated->preprocess);
  made.held_out = held_out;
  made.quantized = *std::move(results.quantized);
  made.compared = *std::move(results.compared);
  made.files = {files.table, files.model};
  const Advice advice = advise(figures_of(made));
  const std::vector<CommandWords> next = commands_of(advice, options, command, files, made, lines);
  options.run.json ? print_result(json_of(made, advice, next))
                   : print_text(text_of(made, advice, next, result_columns()));
}

}  // namespace

void add_auto(Program& program, Session& session) {
  const auto options = std::make_shared<AutoCommand>();
  Command& command = program.add_command(
      "auto", "Calibrate, quantize and compare in one go, and say what to do next",
      {"qtool auto model.onnx --images photos/calib --preprocess imagenet -o made",
       "qtool auto model.onnx --images photos/calib --compare photos/eval -o made"});
  command.option("model", options->model, "ONNX model in FP32").required().placeholder("MODEL");
  command.option("-o,--output-dir", options->folder, "Folder for what is made (default: this one)")
      .placeholder("DIR");
  add_target(command, options->target);
  add_effort(command, options->effort, Efforts::kWithoutBudget);
  options->images.limit = kDefaultLimit;
  options->images.add_to(command, SamplesUse::kMeasure);
  // auto gives --part to its steps: half of the images set the ranges, and the models are compared
  // on the other half.
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
  add_verify_limit(command, options->min_sqnr_db);
  options->run.add_to(command);
  command.show_first({"model", "--images", "--inputs", "--compare", "--labels", "--limit",
                      "--preprocess", "--target", "--effort", "--boxes", "--output-dir",
                      "--threads", "--json", "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    options->images.require_given();
    session.run = [options, &command] { run_auto(*options, command); };
  });
}

}  // namespace qtool::tool
