#include "qtool/quantize/quantize.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/choices.h"
#include "base/text.h"
#include "cli/program.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/accuracy.h"
#include "options/faster.h"
#include "options/images.h"
#include "options/overrides.h"
#include "options/run.h"
#include "options/target.h"
#include "options/types.h"
#include "options/verify.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/overrides.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/quantize/target.h"
#include "qtool/samples/samples.h"
#include "quantize_warnings.h"
#include "report/quantization.h"
#include "shown_command.h"
#include "signals.h"
#include "step_display.h"
#include "table_file.h"
#include "terminal.h"
#include "write_model.h"

namespace qtool::tool {
namespace {

struct QuantizeCommand {
  std::string model;
  std::string table;
  std::string table_format;
  std::string name_map;
  std::string mode = "static";
  bool dynamic_lstm = false;
  std::string target{kDefaultTarget};
  std::string form = "qdq";
  AccuracyOptions accuracy;
  std::string preprocess;
  bool force = false;
  bool external_data = false;
  TypeOptions types;
  RewriteOptions rewrites;
  OverrideOptions overrides;
  SampleOptions images;
  VerifyOptions verify;
  FasterOnlyOptions faster;
  std::string output;
  RunOptions run;
};

// model.onnx -> model.int8.onnx, model.dynamic.onnx or model.weight-only.onnx.
std::string output_of(const QuantizeCommand& options, QuantizeMode mode) {
  if (!options.output.empty()) return options.output;
  const std::string kind = mode == QuantizeMode::kStatic ? "int8" : options.mode;
  return default_output(options.model, options.target, to_text(".", kind, ".onnx"));
}

// Reads the table in any format and checks the names of its tensors.
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
    throw Error(ErrorCode::kUsage, to_text("--preprocess: table '", options.table,
                                           "' says already how images are prepared"));
  }
  return std::move(file.table);
}

// The preprocessing of the images: from --preprocess, the table or the model.
Preprocess preprocess_of(const std::optional<Preprocess>& named, const CalibrationTable* table,
                         const Model& fp32) {
  if (named) {
    PreprocessOptions given;
    given.name_by_default(*named, "of --preprocess");
    return given.choose(std::nullopt, fp32.loaded).preprocess;
  }
  SourcedPreprocess stored;
  if (table != nullptr && has_provenance(*table) && table->preprocess) {
    stored = {*table->preprocess, "stored in the table", {}};
  } else if (const std::optional<StoredPreprocess> own = fp32.stored_preprocess()) {
    stored = {own->preprocess, to_text("stored in ", own->where), {}};
  } else {
    throw Error(ErrorCode::kUsage,
                "--images: how images are prepared must be known, which neither a table nor the "
                "model says; give --preprocess");
  }
  note(text_of(stored));
  return stored.preprocess;
}

void print(const QuantizationSummary& summary, const QuantizeCommand& options) {
  options.run.json ? print_result(json_of(summary))
                   : print_text(text_of(summary, options.run.list_length()));
}

bool holds_lstm(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](NodeId id) { return graph.node(id).is("LSTM"); });
}

void add_form(Command& command, std::string& form) {
  auto [names, help] = names_and_help(model_forms());
  const std::string all = alternatives(names);
  command
      .option("--format", form,
              to_text(all, ": how the model writes integer operators\n", help, "."))
      .placeholder("FORM")
      .show_default()
      .one_of(std::move(names));
}

void run_quantize(QuantizeCommand& options, const Command& command) {
  options.run.apply();
  const QuantizeMode mode = find_quantize_mode(options.mode).value();
  if (mode == QuantizeMode::kStatic && options.table.empty()) {
    options.table = find_table(options.model, options.target);
  }
  Recipe recipe;
  recipe.mode = mode;
  if (options.dynamic_lstm) recipe.dynamic_lstm = DynamicLstm::kMicrosoft;
  recipe.target = options.target;
  recipe.types = options.types.choices();
  recipe.rewrites = options.rewrites.names();
  recipe.form = find_model_form(options.form).value();
  options.accuracy.apply(command, options.images.given(), recipe);
  if (mode != QuantizeMode::kStatic && recipe.bias_correction == BiasCorrection::kSequential) {
    throw Error(ErrorCode::kUsage,
                to_text("--bias-correction sequential has no effect with --mode ", options.mode));
  }
  options.verify.apply(options.images.given());
  // If the table does not state the preprocessing, --preprocess does.
  std::optional<Preprocess> named;
  if (!options.preprocess.empty()) named = read_preprocess(options.preprocess);
  WriteModelOptions write;
  write.mode = mode;
  write.output = output_of(options, mode);
  write.external_data = options.external_data;
  write.force = options.force;
  write.refused = [&](const QuantizationSummary& refused) { print(refused, options); };
  declare_model(write.output, write.external_data);
  QuantizationSummary summary;
  Model fp32;
  fp32.path = options.model;
  fp32.loaded = load_model(options.model);
  if (named) fit_letterbox(options.preprocess, fp32.loaded, *named);
  const Graph prepared = prepare(fp32.loaded, interrupted);
  if (const std::optional<NodeId> node = quantized_node(fp32.loaded)) {
    throw Error(ErrorCode::kUnsupported,
                to_text(fp32.loaded.describe(*node), ": the model is quantized already"));
  }
  TypeOptions::require_effect(command, prepared, options.model);
  if (options.dynamic_lstm && !holds_lstm(prepared)) {
    throw Error(ErrorCode::kUsage,
                to_text("--dynamic-lstm: model '", options.model, "' has no LSTM"));
  }
  std::optional<CalibrationTable> table = read_table(options, command, fp32, prepared);
  recipe.overrides = options.overrides.read();
  std::optional<Samples> samples;
  Preprocess of_images;
  if (mode == QuantizeMode::kStatic || options.images.given()) {
    fp32.executor = std::make_unique<Executor>(prepared, interrupted);
  }
  if (options.images.given() || options.faster.given()) {
    warn_of_left_out(fp32.path, *fp32.executor);
  }
  if (options.images.given()) {
    samples = options.images.list(fp32.executor->graph());
    if (samples->are_images()) of_images = preprocess_of(named, table ? &*table : nullptr, fp32);
  }
  if (samples && table && mode == QuantizeMode::kStatic) {
    summary.overlap = overlap_of(table->image_ids, *samples, options.run.threads, interrupted);
  }
  StepDisplay display(options.run, samples ? std::string(samples->noun()) : "");
  MakeOptions make = display.options(fp32);
  make.preprocess = of_images;
  make.bad_images = options.images.policy();
  StaticInputs inputs =
      inputs_of_table(recipe, std::move(table).value_or(CalibrationTable()), make);
  if (options.faster.given()) {
    // This comes before anything is learned from images, because that does not affect the speed.
    summary.faster = options.faster.measure(fp32, inputs, samples ? &*samples : nullptr, of_images,
                                            options.images.policy(), options.run);
    std::vector<std::string>& exclude = inputs.options.exclude;
    exclude.insert(exclude.end(), summary.faster->exclude.begin(), summary.faster->exclude.end());
  }
  options.accuracy.resume(make);
  MadeModel made = samples ? make_model(*fp32.executor, recipe, std::move(inputs), &*samples, make)
                           : make_model(prepared, recipe, std::move(inputs), make);
  options.accuracy.print(recipe, made.learned);
  summary.unused.add(made.learned.bad);
  summary.judged = std::move(made.learned.judged);
  if (samples) summary.unused.passed_over = samples->passed_over();
  Quantized int8 = std::move(made.int8);
  summary.report = std::move(int8.report);
  if (named) int8.graph.info.metadata[std::string(kPreprocessKey)] = to_json_text(*named);
  warn_of(summary.report, options.table);
  const bool follows_table = mode == QuantizeMode::kStatic && !recipe.types.weight_pairs;
  warn_of_pairs(summary.report,
                follows_table ? made.inputs.table.types.weight_pairs : recipe.types.weight_pairs);
  if (options.verify.given()) {
    write.verify = [&](const WrittenModel& written) {
      return verify_with_progress(fp32, written.open(), *samples, make, options.run,
                                  options.verify.min_sqnr_db());
    };
  }
  std::optional<Verification> measured;
  if (samples && !options.verify.given()) {
    measured = measure_with_progress(fp32, int8.graph, *samples, make, options.run);
  }
  if (samples && mode == QuantizeMode::kStatic) {
    summary.function_pairs =
        measure_function_pairs(fp32, int8, made.inputs.options.exclude, *samples, make);
  }
  write_model(int8.graph, fp32, prepared, write, summary);
  if (summary.verified) measured = summary.verified;
  if (summary.function_pairs) print_function_pairs(*summary.function_pairs, samples->noun());
  if (measured) warn_of_noise(*measured, !learning_steps(recipe).empty());
  options.accuracy.finish();
  // In these modes an inference may take longer than in FP32. Without a count of multiplications,
  // qtool cannot run the model.
  if (mode != QuantizeMode::kStatic && summary.coverage.macs > 0) {
    ShownCommand bench("bench", options.model);
    bench.value("--int8", write.output);
    summary.bench = bench.words();
  }
  print(summary, options);
}

}  // namespace

void add_quantize(Program& program, Session& session) {
  const auto options = std::make_shared<QuantizeCommand>();
  Command& command = program.add_command(
      "quantize", "Emit the INT8 model (ONNX with QuantizeLinear / DequantizeLinear)",
      {"qtool quantize model.onnx", "qtool quantize model.onnx --mode weight-only",
       "qtool quantize model.onnx --effort balanced --images photos/calib --limit 100 --verify "
       "-o balanced.onnx",
       "qtool quantize model.onnx --faster-only --threads 2"});
  const std::vector<Company> with_table = {{"--mode", {"static"}}};
  add_model(command, options->model).required();
  command
      .option("--table", options->table,
              "Calibration table (default: MODEL.table.json)\n"
              "The modes dynamic and weight-only need none; of one that is given they take "
              "what corrects biases.")
      .placeholder("FILE");
  take_format(command
                  .option("--table-format", options->table_format,
                          "Format of the table (default: shown by its content)")
                  .placeholder("FORMAT"));
  command
      .option("--name-map", options->name_map,
              "JSON file with the tensor and weight behind each layer name\n"
              "Without it, layers are the model's nodes.")
      .placeholder("FILE");
  command
      .option("--mode", options->mode,
              "static, dynamic or weight-only\n"
              "static takes ranges from the table; dynamic measures them while running; "
              "weight-only stores int8 weights and computes in FP32.")
      .placeholder("MODE")
      .show_default()
      .one_of({"static", "dynamic", "weight-only"});
  command.flag("--dynamic-lstm", options->dynamic_lstm,
               "Write LSTMs as ONNX Runtime's DynamicQuantizeLSTM\n"
               "That runtime then multiplies integers there, and no other reads the model. "
               "LSTMs whose axes begin with the batch (layout 1) stay as they are.");
  command.goes_with("--dynamic-lstm", {{"--mode", {"dynamic"}}});
  add_target(command, options->target);
  add_form(command, options->form);
  options->overrides.add_to(command, OverrideUse::kModel);
  command
      .option("-o,--output", options->output,
              "Model to write (default: MODEL.int8.onnx)\n"
              "MODEL.dynamic.onnx or MODEL.weight-only.onnx by the mode; for a target other "
              "than cpu MODEL.TARGET.int8.onnx and so on.")
      .placeholder("FILE");
  options->accuracy.add_to(command, AccuracyUse::kQuantize);
  take_preprocess(command
                      .option("--preprocess", options->preprocess,
                              "Preset or JSON file that the model is to carry\n"
                              "For where no table of qtool says how images are prepared.")
                      .placeholder("NAME|FILE"));
  command.flag("--force", options->force,
               "Write the model even if nothing of it becomes integers, or --verify fails\n"
               "Also where qtool runs MODEL, but not what it becomes.");
  command.flag("--external-data", options->external_data,
               "Write the weights to a second file, OUTPUT.data\n"
               "A model of more than 2 GiB is written so in any case.");
  options->types.add_to(command);
  options->rewrites.add_to(command, "as the table says");
  options->images.add_to(command, SamplesUse::kRun);
  options->verify.add_to(command);
  options->faster.add_to(command);
  options->run.add_to(command);
  for (const char* option :
       {"--effort", "--tune-ranges", "--weight-rounding", "--equalize", "--format", "--range",
        "--scale", "--wide", "--weight-granularity", "--weight-symmetry", "--winograd-bits",
        "--activations", "--symmetric", "--activation-bits"}) {
    command.goes_with(option, with_table);
  }
  for (const char* option : {"--table-format", "--name-map", "--bias-correction"}) {
    command.goes_with(option, {{"--mode", {"static"}}, {"--table", {}}});
  }
  // Mode weight-only stores weights in the same way for all targets, and multiplies no integers.
  for (const char* option : {"--target", "--weight-pairs"}) {
    command.goes_with(option, {{"--mode", {"static", "dynamic"}}});
  }
  command.goes_with_files("--name-map", Trait::kLayerNames);
  command.show_first({"model", "--table", "--mode", "--target", "--exclude", "--weight-bits",
                      "--effort", "--images", "--verify", "--faster-only", "--output", "--threads",
                      "--json", "--quiet", "--help"});
  command.on_parsed([options, &command, &session] {
    session.run = [options, &command] { run_quantize(*options, command); };
  });
}

}  // namespace qtool::tool
