#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_images.h"
#include "options_method.h"
#include "options_mnn.h"
#include "options_quantization.h"
#include "options_run.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/base/hash.h"
#include "qtool/base/text.h"
#include "qtool/calib/calibrate.h"
#include "qtool/calib/method.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/placement.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "qtool/report/quantization.h"
#include "table_file.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct CalibrateCommand {
  std::string model;
  std::string target{kDefaultTarget};
  std::string output;
  TypeOptions types;
  OverrideOptions overrides;
  DecisionOptions decision;
  StatisticsOptions statistics;
  MnnOptions mnn;
  ImageOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

void report_bad_images(const std::vector<BadImage>& bad) {
  constexpr std::size_t kNamed = 10;
  for (std::size_t i = 0; i < bad.size() && i < kNamed; ++i) warning(bad[i].reason);
  if (!bad.empty()) warning(concat(bad.size(), " images left out (--strict makes this an error)"));
}

constexpr std::int64_t kExactBins = 2048;  // as the tools count that need the range in advance

// Statistics from the images.
Collection collected(const CalibrateCommand& options, const Model& model,
                     std::vector<std::string> tensors, const Preprocess& preprocess) {
  CollectOptions collect_options;
  collect_options.tensors = std::move(tensors);
  collect_options.preprocess = preprocess;
  collect_options.model_fingerprint = fingerprint(model.loaded);
  collect_options.bad_images = options.images.policy();
  collect_options.threads = options.run.threads;
  collect_options.exact_bins = options.statistics.two_pass ? kExactBins : 0;
  const ImageSet images = options.images.list();
  ProgressDisplay progress("calibrate", "images", options.run.progress_style());
  collect_options.progress = progress.callback();
  Collection collection = collect(*model.executor, images, collect_options);
  const auto values = static_cast<double>(std::max<std::int64_t>(collection.observed_values, 1));
  detail(concat("observed ", collection.observed_values, " values, ",
                to_fixed(1e9 * collection.observe_seconds / values, 2), " ns per value"));
  return collection;
}

// Statistics that an earlier run saved beside this table; refused when the table has been written
// anew since, or is another one.
Collection saved(const std::string& table) {
  declare_input(table);
  const std::string path = StatisticsOptions::beside(table);
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::kUsage, concat("--from ", table, ": there is no '", path,
                                          "'; calibrate with --save-statistics to have one"));
  }
  Collection collection = read_collection(read_input(path, kMaxStatisticsBytes));
  if (collection.table_hash != hash_bytes(read_input(table, kMaxTableBytes))) {
    throw Error(ErrorCode::kMismatch,
                concat("--from ", table, ": '", path, "' was not saved with this table, which was ",
                       "replaced or changed; calibrate again with --save-statistics"));
  }
  return collection;
}

// Statistics name their model from where they lie, so that they are of use from any folder.
std::filesystem::path folder_of(const std::string& file) {
  return std::filesystem::absolute(file).parent_path();
}

std::string noted_model(const std::string& statistics, const std::string& model) {
  return std::filesystem::proximate(std::filesystem::absolute(model), folder_of(statistics))
      .generic_string();
}

// The model that the statistics beside `table` are of.
std::string model_of(const std::string& table, const Collection& collection) {
  std::filesystem::path model = folder_of(table) / collection.model_path;
  model = std::filesystem::proximate(model);
  if (!std::filesystem::exists(model)) {
    throw Error(ErrorCode::kUsage, concat("--from ", table, ": its model was '", model.string(),
                                          "', which is not there; say where MODEL is now"));
  }
  return model.string();
}

// Names of ranges and scales that match nothing are told before any image runs.
void require_known_names(const Overrides& overrides, const Graph& graph,
                         const std::vector<std::string>& tensors) {
  CalibrationTable names;
  for (const std::string& tensor : tensors) names.activations.emplace_back().tensor = tensor;
  add_aliases(graph, names);
  require_matches(overrides, names);
}

void require_observed(const Collection& collection, const std::vector<std::string>& tensors) {
  for (const std::string& tensor : tensors) {
    const bool known =
        std::any_of(collection.tensors.begin(), collection.tensors.end(),
                    [&](const TensorStatistics& observed) { return observed.tensor == tensor; });
    if (!known) {
      throw Error(ErrorCode::kMismatch, concat("the saved statistics lack tensor '", tensor,
                                               "', which this target or exclusion needs"));
    }
  }
}

void run_calibrate(CalibrateCommand& options, const Command& command) {
  options.run.apply();
  StaticOptions quantize_options;
  quantize_options.target = options.target;
  quantize_options.types = options.types.choices();
  const Target target = chosen_target(CalibrationTable(), quantize_options);
  const Overrides overrides = options.overrides.read();
  quantize_options.exclude = overrides.exclude;
  MethodOptions method_options = options.decision.values;
  method_options.scheme = target.activations;
  // Refused before any work: an unknown method, options out of their domain.
  static_cast<void>(find_method(options.decision.method).decide(Statistics(), method_options));
  options.preprocess.read();
  const bool again = !options.statistics.from.empty();
  if (again ? !options.images.images.empty() : options.images.images.empty()) {
    throw Error(ErrorCode::kUsage, "calibrate needs --images, or --from to decide again");
  }
  Collection collection;
  if (again) {
    collection = saved(options.statistics.from);
    if (options.model.empty()) options.model = model_of(options.statistics.from, collection);
  }
  if (options.model.empty()) throw Error(ErrorCode::kUsage, "MODEL is required");
  const std::string output = options.output.empty()
                                 ? default_output(options.model, options.target, ".table.json")
                                 : options.output;
  if (again && options.output.empty() && std::filesystem::exists(output)) {
    throw Error(ErrorCode::kUsage, concat("--from: would replace '", output,
                                          "' unasked; name the table to write with -o"));
  }
  declare_output(output);
  const std::string beside = StatisticsOptions::beside(output);
  if (options.statistics.save) declare_output(beside);
  const Model model = open_model(options.model);
  const Graph& graph = model.executor->graph();
  TypeOptions::require_effect(command, graph, options.model);
  const std::vector<std::string> tensors = tensors_to_calibrate(graph, target, overrides.exclude);
  SourcedPreprocess preprocess;
  require_known_names(overrides, graph, tensors);
  if (again) {
    preprocess = {collection.preprocess,
                  concat("of the statistics beside '", options.statistics.from, "'"),
                  {}};
    note(text_of(preprocess));
    if (collection.model_fingerprint != fingerprint(model.loaded)) {
      throw Error(ErrorCode::kMismatch, concat("the statistics beside '", options.statistics.from,
                                               "' are not of model '", options.model, "'"));
    }
    require_observed(collection, tensors);
  } else {
    preprocess = options.preprocess.choose(model.stored_preprocess(), model.loaded);
    collection = collected(options, model, tensors, preprocess.preprocess);
  }
  report_bad_images(collection.bad);
  if (const std::optional<std::string> doubt = doubtful(collection)) warning(*doubt);

  const auto begin = std::chrono::steady_clock::now();
  CalibrationTable table =
      decide(collection, options.decision.method, method_options, options.run.threads);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  detail(concat("decided ", table.activations.size(), " ranges in ", to_fixed(took.count(), 1),
                " ms"));
  add_aliases(graph, table);
  apply_overrides(overrides, target.activations, &collection, table);
  table.types = quantize_options.types;
  quantize_options.threads = options.run.threads;
  quantize_options.model_fingerprint = table.model_fingerprint;
  fill_weight_entries(graph, quantize_options, table);

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
  options.run.json ? print_result(json_of(table, output, preprocess))
                   : print_text(text_of(table, output, result_columns()));
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session) {
  const auto options = std::make_shared<CalibrateCommand>();
  Command* command = add_command(
      app, "calibrate", "Run images through the FP32 model and decide the ranges of its tensors",
      {"qtool calibrate model.onnx --images photos/calib --preprocess imagenet",
       "qtool calibrate model.onnx --images photos/calib --weight-bits 6 --range 'relu6_*=0,6'"});
  command->add_option("model", options->model, "ONNX model; --from knows it without")
      ->type_name("MODEL");
  add_target(*command, options->target);
  options->overrides.add_to(*command);
  command
      ->add_option("-o,--output", options->output,
                   "Table to write (default: MODEL.table.json, or MODEL.TARGET.table.json)")
      ->type_name("FILE");
  options->decision.add_to(*command);
  options->types.add_to(*command);
  options->statistics.add_to(*command);
  options->mnn.add_to(*command);
  options->images.add_to(*command, ImagesUse::kRun);
  options->preprocess.add_to(*command);
  // Saved statistics were made with these.
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_group() == "Images" || option->get_group() == "Preprocessing") {
      command->not_with(option->get_name(), {{"--from", {}}});
    }
  }
  command->not_with("--mnn-config", {{"--from", {}}});
  options->run.add_to(*command);
  command->show_first({"model", "--images", "--limit", "--preprocess", "--method", "--target",
                       "--exclude", "--save-statistics", "--from", "--output", "--threads",
                       "--json", "--quiet", "--help"});
  command->callback([options, command, &session] {
    options->mnn.apply(*command, options->preprocess);
    session.run = [options, command] { run_calibrate(*options, *command); };
  });
}

}  // namespace qtool::tool
