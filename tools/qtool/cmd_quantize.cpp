#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "checks.h"
#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_accuracy.h"
#include "options_images.h"
#include "options_quantization.h"
#include "options_run.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/exec/prepare.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"
#include "report/quantization.h"
#include "report/summary.h"
#include "signals.h"
#include "steps.h"
#include "table_file.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct QuantizeCommand {
  std::string model;
  std::string table;
  std::string table_format;
  std::string name_map;
  std::string mode = "static";
  std::string target{kDefaultTarget};
  AccuracyOptions accuracy;
  std::string preprocess;
  bool force = false;
  TypeOptions types;
  RewriteOptions rewrites;
  OverrideOptions overrides;
  SampleOptions images;
  std::string output;
  RunOptions run;
};

// model.onnx -> model.int8.onnx, model.dynamic.onnx or model.weight-only.onnx.
std::string output_of(const QuantizeCommand& options, QuantizeMode mode) {
  if (!options.output.empty()) return options.output;
  const std::string kind = mode == QuantizeMode::kStatic ? "int8" : options.mode;
  return default_output(options.model, options.target, concat(".", kind, ".onnx"));
}

// The table to use: --table, or the one that calibrate writes without -o, which lies in the folder
// it ran in, or beside the model. Fills in where it was found.
void find_table(QuantizeCommand& options) {
  namespace fs = std::filesystem;
  if (!options.table.empty()) return;
  const fs::path name = default_output(options.model, options.target, ".table.json");
  const fs::path beside = fs::path(options.model).parent_path() / name;
  for (const fs::path& path : {name, beside}) {
    std::error_code ec;
    if (!fs::exists(path, ec)) continue;
    options.table = path.string();
    note(concat("table '", options.table, "'"));
    return;
  }
  throw Error(ErrorCode::kUsage,
              concat("--table is required: there is neither '", name.string(), "' ",
                     name == beside ? "here" : concat("here nor '", beside.string(), "'"),
                     "; qtool calibrate writes it"));
}

// The table, in whatever format, with its names checked.
std::optional<CalibrationTable> read_table(const QuantizeCommand& options, const Command& command,
                                           const Model& fp32, const Graph& prepared) {
  if (options.table.empty()) return std::nullopt;
  TableFile file = read_table_file(options.table, options.table_format,
                                   read_layer_names(options.name_map, &prepared));
  command.found(Trait::kLayerNames, text_of(options.table, *file.format),
                [&] { return file.format->reads_layers; });
  if (!has_provenance(file.table)) {
    require_known_tensors(file.table, fp32.loaded, prepared);
  } else if (!options.preprocess.empty()) {
    throw Error(ErrorCode::kUsage, concat("--preprocess: table '", options.table,
                                          "' says already how images are prepared"));
  }
  return std::move(file.table);
}

// The first few names of a list.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    text += concat(i == 0 ? "'" : ", '", names[i], "'");
  }
  return names.size() > kMaxNamed ? concat(text, " and ", names.size() - kMaxNamed, " more") : text;
}

void warn_of(const QuantizeReport& report, const std::string& table) {
  if (!report.non_finite.empty()) {
    warning(concat("NaN or infinite values in ", some_of(report.non_finite),
                   ": their layers stay in FP32, and what they compute is unlikely to be of use"));
  }
  for (const RewriteReport& rewrite : report.rewrites) {
    if (rewrite.tensors > 0) continue;
    warning(concat("--", rewrite.rewrite, " changes nothing: ", rewrite.reason));
  }
  if (!report.nearest_layers.empty()) {
    warning(concat("--weight-rounding: the weights of ", report.nearest_layers.size(),
                   " layers are rounded to nearest, because what they multiply does not fit into "
                   "--max-memory or cannot be read: ",
                   some_of(report.nearest_layers)));
  }
  if (!report.missing_ranges.empty()) {
    warning(concat("table '", table, "' has no range for ", report.missing_ranges.size(),
                   " of the tensors that would be integers: ", some_of(report.missing_ranges),
                   "; what reads or makes them stays in FP32"));
  }
}

// What the emitted model really runs on integers, read back as any user will read it.
void read_back(const std::string& bytes, QuantizeMode mode, QuantizationSummary& summary) {
  try {
    Model emitted;
    emitted.path = summary.output;
    emitted.loaded = load_onnx_bytes(
        bytes, std::filesystem::path(summary.output).parent_path().string(), summary.output);
    const std::optional<StoredPreprocess> stored = emitted.stored_preprocess();
    summary.coverage = qtool::measure_coverage(
        emitted.loaded, typical_shapes(emitted.loaded, stored ? stored->preprocess : Preprocess()),
        summary.report, interrupted);
    summary.coverage_line = coverage_line(summary.coverage, summary.report);
  } catch (const Error& error) {
    // These modes need no run, so that they take operators that only other runtimes have.
    if (mode == QuantizeMode::kStatic || error.code() != ErrorCode::kUnsupported) throw;
    summary.coverage_line = concat("coverage is not known: ", error.what());
  }
}

// The modes without a table. There are no ranges to change then; of the flags, the options' rules
// say so.
Quantized quantize_without_table(QuantizeMode mode, const QuantizeOptions& common,
                                 const TypeChoices& types, const Overrides& overrides,
                                 const Graph& prepared) {
  if (!overrides.ranges.empty() || !overrides.scales.empty()) {
    throw Error(ErrorCode::kUsage, "--overrides: ranges and scales have no effect without a table");
  }
  const WeightChoices weights{types.weight_bits, types.weight_method};
  return mode == QuantizeMode::kDynamic ? quantize(prepared, DynamicOptions{common, weights})
                                        : quantize(prepared, WeightOnlyOptions{common, weights});
}

void run_quantize(QuantizeCommand& options, const Command& command, StepResults* step) {
  options.run.apply();
  const QuantizeMode mode = find_quantize_mode(options.mode).value();
  if (mode == QuantizeMode::kStatic) find_table(options);
  options.accuracy.apply(command, options.images.given(), options.rewrites);
  // A model whose preprocessing a table does not say takes it from --preprocess.
  std::string preprocess;
  if (!options.preprocess.empty()) preprocess = to_json_text(read_preprocess(options.preprocess));
  QuantizationSummary summary;
  summary.output = output_of(options, mode);
  declare_output(summary.output);
  Model fp32;
  fp32.path = options.model;
  fp32.loaded = load_model(options.model);
  const Graph prepared = prepare(fp32.loaded);
  if (const std::optional<NodeId> node = quantized_node(fp32.loaded)) {
    throw Error(ErrorCode::kUnsupported,
                concat(fp32.loaded.describe(*node), ": the model is quantized already"));
  }
  TypeOptions::require_effect(command, prepared, options.model);
  std::optional<CalibrationTable> table = read_table(options, command, fp32, prepared);
  const Overrides overrides = options.overrides.read();
  QuantizeOptions common;
  common.target = options.target;
  common.exclude = overrides.exclude;
  common.threads = options.run.threads;
  common.model_fingerprint = fingerprint(fp32.loaded);
  common.version = QTOOL_VERSION;
  Quantized int8 = [&] {
    if (!table)
      return quantize_without_table(mode, common, options.types.choices(), overrides, prepared);
    StaticOptions quantize_options{common,
                                   options.types.choices(),
                                   options.rewrites.names(),
                                   options.accuracy.bias_correction(),
                                   {},
                                   {}};
    apply_overrides(overrides, chosen_target(*table, quantize_options).activations, nullptr,
                    *table);
    if (options.images.given()) {
      fp32.executor = std::make_unique<Executor>(prepared);
      const Samples samples = options.images.list(fp32.executor->graph());
      Preprocess of_images;
      if (samples.are_images()) {
        const SourcedPreprocess stored = stored_preprocess_of(*table, fp32);
        note(text_of(stored));
        of_images = stored.preprocess;
      }
      options.accuracy.measure(fp32, *table, samples, of_images, options.images.policy(),
                               options.run, quantize_options);
    }
    return quantize(prepared, *table, quantize_options);
  }();
  summary.report = std::move(int8.report);

  if (!preprocess.empty()) int8.graph.info.metadata[std::string(kPreprocessKey)] = preprocess;
  warn_of(summary.report, options.table);
  const std::string bytes = save_onnx_bytes(int8.graph);
  // Weights may lie in files beside the model.
  summary.fp32_bytes =
      std::max(static_cast<std::int64_t>(std::filesystem::file_size(options.model)),
               summarize(fp32.loaded).parameter_bytes);
  summary.int8_bytes = static_cast<std::int64_t>(bytes.size());
  read_back(bytes, mode, summary);
  if (gains_nothing(mode, summary.coverage, summary.report)) {
    const std::string what = concat("nothing of model '", options.model, "' becomes integers");
    if (!options.force) {
      options.run.json ? print_result(json_of(summary)) : print_text(text_of(summary));
      throw Error(ErrorCode::kUnsupported,
                  concat(what, "; the model is not written without --force"));
    }
    warning(what);
  }
  const OutputFile file{summary.output, bytes};
  write_outputs({&file, 1});
  if (step != nullptr) {
    step->quantized = std::move(summary);
    return;
  }
  options.run.json ? print_result(json_of(summary)) : print_text(text_of(summary));
}

}  // namespace

void add_quantize(CLI::App& app, Session& session) {
  const auto options = std::make_shared<QuantizeCommand>();
  Command* command = add_command(
      app, "quantize", "Emit the INT8 model (ONNX with QuantizeLinear / DequantizeLinear)",
      {"qtool quantize model.onnx", "qtool quantize model.onnx --mode weight-only",
       "qtool quantize model.onnx --effort balanced --images photos/calib --limit 100 -o "
       "balanced.onnx"});
  const std::vector<Company> with_table = {{"--mode", {"static"}}};
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command->add_option("--table", options->table, "Calibration table (default: MODEL.table.json)")
      ->type_name("FILE");
  take_format(*command, *command
                             ->add_option("--table-format", options->table_format,
                                          "Format of the table (default: shown by its content)")
                             ->type_name("FORMAT"));
  command
      ->add_option("--name-map", options->name_map,
                   "JSON file with the tensor and weight behind each layer name\n"
                   "Without it, layers are the model's nodes.")
      ->type_name("FILE");
  CLI::Option* mode =
      command
          ->add_option("--mode", options->mode,
                       "static, dynamic or weight-only\n"
                       "static takes ranges from the table; dynamic measures them while running; "
                       "weight-only stores int8 weights and computes in FP32.")
          ->type_name("MODE")
          ->capture_default_str();
  take_words(*command, *mode, {"static", "dynamic", "weight-only"});
  add_target(*command, options->target);
  options->overrides.add_to(*command);
  command
      ->add_option("-o,--output", options->output,
                   "Model to write (default: MODEL.int8.onnx)\n"
                   "MODEL.dynamic.onnx or MODEL.weight-only.onnx by the mode; for a target other "
                   "than cpu MODEL.TARGET.int8.onnx and so on.")
      ->type_name("FILE");
  options->accuracy.add_to(*command, AccuracyUse::kQuantize);
  take_preprocess(*command,
                  *command
                       ->add_option("--preprocess", options->preprocess,
                                    "Preset or JSON file that the model is to carry\n"
                                    "For where no table of qtool says how images are prepared.")
                       ->type_name("NAME|FILE"));
  command->add_flag("--force", options->force,
                    "Write the model even if nothing of it becomes integers");
  options->types.add_to(*command);
  options->rewrites.add_to(*command, "as the table says");
  options->images.add_to(*command, SamplesUse::kRun);
  options->run.add_to(*command);
  for (const char* option :
       {"--table", "--table-format", "--name-map", "--effort", "--bias-correction",
        "--weight-rounding", "--equalize", "--range", "--scale", "--weight-granularity",
        "--weight-symmetry", "--winograd-bits", "--activations", "--symmetric",
        "--activation-bits"}) {
    command->goes_with(option, with_table);
  }
  // Weights are stored alike for all of them.
  command->goes_with("--target", {{"--mode", {"static", "dynamic"}}});
  command->goes_with_files("--name-map", Trait::kLayerNames);
  command->show_first({"model", "--table", "--mode", "--target", "--exclude", "--weight-bits",
                       "--effort", "--images", "--output", "--threads", "--json", "--quiet",
                       "--help"});
  command->callback([options, command, &session] {
    session.run = [options, command, &session] { run_quantize(*options, *command, session.step); };
  });
}

}  // namespace qtool::tool
