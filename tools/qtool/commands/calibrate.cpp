#include "qtool/pipeline/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "cli/program.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/accuracy.h"
#include "options/images.h"
#include "options/method.h"
#include "options/mnn.h"
#include "options/overrides.h"
#include "options/run.h"
#include "options/target.h"
#include "options/types.h"
#include "overwrite_check.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"
#include "qtool/calib/table.h"
#include "qtool/graph/onnx.h"
#include "quantize_warnings.h"
#include "report/quantization.h"
#include "signals.h"
#include "table_file.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct CalibrateCommand {
  std::string model;
  std::string target{kDefaultTarget};
  std::string output;
  TypeOptions types;
  RewriteOptions rewrites;
  OverrideOptions overrides;
  DecisionOptions decision;
  StatisticsOptions statistics;
  MnnOptions mnn;
  SampleOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

constexpr std::int64_t kExactBins = 2048;  // as in other tools that find the range first

// The options of the library that do not depend on the model. Preprocessing and progress are set
// later, together with the images.
CalibrateOptions library_options(const CalibrateCommand& options) {
  Recipe recipe;
  recipe.target = options.target;
  recipe.types = options.types.choices();
  recipe.rewrites = options.rewrites.names();
  recipe.overrides = options.overrides.read();
  recipe.method = options.decision.method;
  recipe.method_options = options.decision.values;
  CalibrateOptions result = calibrate_options(recipe);
  result.collect.bad_images = options.images.policy();
  result.collect.threads = options.run.threads;
  result.stop = interrupted;
  result.collect.exact_bins = options.statistics.two_pass ? kExactBins : 0;
  return result;
}

// Collects statistics from the samples.
Collection collected(const CalibrateCommand& options, const Model& model, const Samples& samples,
                     CalibrateOptions library) {
  ProgressDisplay progress("calibrate", options.images.noun(), options.run.progress_style());
  library.collect.progress = progress.callback();
  const Calibration calibration(*model.executor, std::move(library));
  Collection collection = calibration.collect(samples);
  const auto values = static_cast<double>(std::max<std::int64_t>(collection.observed_values, 1));
  detail(to_text("observed ", collection.observed_values, " values, ",
                 to_fixed(1e9 * collection.observe_seconds / values, 2), " ns per value"));
  return collection;
}

// Calls choose_pairs() and prints what it chose.
void choose_and_print_pairs(const Executor& fp32, const Samples& samples, CalibrateOptions library,
                            ProgressStyle style, CalibrationTable& table) {
  std::optional<PairChoice> pairs;
  {
    ProgressDisplay progress("compare pairs of weights", std::string(samples.noun()), style,
                             FinalLine::kNone);
    library.collect.progress = progress.callback();
    pairs = choose_pairs(fp32, samples, library, table);
  }
  if (pairs) print_pairs(*pairs, samples.noun());
}

// Statistics store the path of their model relative to their own folder, so that they can be used
// from any folder.
std::filesystem::path folder_of(const std::string& file) {
  return std::filesystem::absolute(file).parent_path();
}

std::string noted_model(const std::string& statistics, const std::string& model) {
  return std::filesystem::proximate(std::filesystem::absolute(model), folder_of(statistics))
      .generic_string();
}

// The path of the model whose statistics lie beside `table`.
std::string model_of(const std::string& table, const Collection& collection) {
  std::filesystem::path model = folder_of(table) / collection.model_path;
  model = std::filesystem::proximate(model);
  if (!std::filesystem::exists(model)) {
    throw Error(ErrorCode::kUsage, to_text("--from ", table, ": its model was '", model.string(),
                                           "', which is not there; say where MODEL is now"));
  }
  return model.string();
}

void run_calibrate(CalibrateCommand& options, const Command& command) {
  options.run.apply();
  CalibrateOptions library = library_options(options);
  static_cast<void>(calibration_target(library));  // throws before any work
  options.preprocess.read();
  const bool again = !options.statistics.from.empty();
  if (again == options.images.given()) {
    throw Error(ErrorCode::kUsage,
                "calibrate needs --images or --inputs, or --from to decide again");
  }
  Collection collection;
  if (again) {
    collection = read_statistics(options.statistics.from, "--from");
    if (options.model.empty()) options.model = model_of(options.statistics.from, collection);
    // Without images their cost cannot be measured again.
    if (!library.types.weight_pairs && find_target(library.target).adds_pairs_in_16_bits) {
      library.types.weight_pairs =
          read_table_file(options.statistics.from, {}, {}).table.types.weight_pairs;
    }
  }
  if (options.model.empty()) throw Error(ErrorCode::kUsage, "MODEL is required");
  const std::string output = options.output.empty()
                                 ? default_output(options.model, options.target, ".table.json")
                                 : options.output;
  if (again && options.output.empty() && std::filesystem::exists(output)) {
    throw Error(ErrorCode::kUsage, to_text("--from: would replace '", output,
                                           "' unasked; name the table to write with -o"));
  }
  declare_output(output);
  const std::string beside = statistics_beside(output);
  if (options.statistics.save) declare_output(beside);
  const Model model = open_model(options.model);
  const Graph& graph = model.executor->graph();
  TypeOptions::require_effect(command, graph, options.model);
  const std::uint64_t model_fingerprint = fingerprint(model.loaded);
  library.collect.model_fingerprint = model_fingerprint;
  const std::vector<std::string> asked_rewrites = library.rewrites;
  const Calibration calibration(*model.executor, library);
  std::optional<SourcedPreprocess> preprocess;
  UnusedFiles unused;
  std::optional<Samples> samples;
  if (again) {
    if (collection.preprocess) {
      preprocess = {*collection.preprocess,
                    to_text("of the statistics beside '", options.statistics.from, "'"),
                    {}};
      note(text_of(*preprocess));
    }
    if (collection.model_fingerprint != model_fingerprint) {
      throw Error(ErrorCode::kMismatch, to_text("the statistics beside '", options.statistics.from,
                                                "' are not of model '", options.model, "'"));
    }
  } else {
    preprocess =
        options.preprocess.choose_for(options.images, model.stored_preprocess(), model.loaded);
    if (preprocess) library.collect.preprocess = preprocess->preprocess;
    samples = options.images.list(graph);
    collection = collected(options, model, *samples, library);
    unused = {collection.bad, samples->passed_over()};
  }
  if (const std::optional<std::string> doubt = doubtful(collection)) warning(*doubt);

  const auto begin = std::chrono::steady_clock::now();
  CalibrationTable table = calibration.decide(collection);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  detail(to_text("decided ", table.activations.size(), " ranges and ", table.weights.size(),
                 " weights in ", to_fixed(took.count(), 1), " ms"));

  if (samples) {
    choose_and_print_pairs(*model.executor, *samples, library, options.run.progress_style(), table);
  }
  for (const std::string& rewrite : asked_rewrites) {
    const auto& made = table.rewrites.names;
    if (std::find(made.begin(), made.end(), rewrite) != made.end()) continue;
    warning(to_text("--", rewrite, " changes nothing of model '", options.model, "'"));
  }
  const std::string table_bytes = write_table(table);
  std::string statistics_bytes;
  std::vector<OutputFile> files{{output, table_bytes}};
  if (options.statistics.save) {
    collection.table_hash = hash_bytes(table_bytes);
    collection.model_path = noted_model(beside, options.model);
    statistics_bytes = write_collection(collection);
    files.push_back({beside, statistics_bytes});
  }
  write_outputs(files);
  options.run.json
      ? print_result(json_of(table, output, unused, preprocess))
      : print_text(text_of(table, output, unused, options.run.list_length(), result_columns()));
}

}  // namespace

void add_calibrate(Program& program, Session& session) {
  const auto options = std::make_shared<CalibrateCommand>();
  Command& command = program.add_command(
      "calibrate", "Run images through the FP32 model and decide the ranges of its tensors",
      {"qtool calibrate model.onnx --images photos/calib --preprocess imagenet",
       "qtool calibrate model.onnx --inputs tensors --weight-bits 6 --range 'relu6_*=0,6' -o "
       "six.json"});
  add_model(command, options->model, "; --from knows it without");
  add_target(command, options->target);
  options->overrides.add_to(command, OverrideUse::kTable);
  command
      .option("-o,--output", options->output,
              "Table to write (default: MODEL.table.json, or MODEL.TARGET.table.json)")
      .placeholder("FILE");
  options->decision.add_to(command);
  options->types.add_to(command);
  options->rewrites.add_to(command, "off");
  options->statistics.add_to(command);
  options->mnn.add_to(command);
  options->images.add_to(command, SamplesUse::kRun);
  options->images.sequence.add_to(command);
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  // These options are fixed in saved statistics, so they have no effect with --from.
  for (const auto& option : command.options()) {
    if (option->group() == "Images" || option->group() == "Preprocessing") {
      command.not_with(option->name(), {{"--from", {}}});
    }
  }
  command.not_with("--mnn-config", {{"--from", {}}});
  options->run.add_to(command);
  command.show_first({"model", "--images", "--inputs", "--limit", "--preprocess", "--method",
                      "--target", "--save-statistics", "--from", "--output", "--threads", "--json",
                      "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    options->mnn.apply(command, options->preprocess);
    session.run = [options, &command] { run_calibrate(*options, command); };
  });
}

}  // namespace qtool::tool
