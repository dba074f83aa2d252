#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "console.h"
#include "model.h"
#include "options_images.h"
#include "options_quantization.h"
#include "options_run.h"
#include "progress.h"
#include "qtool/base/file.h"
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

namespace qtool::tool {
namespace {

struct CalibrateCommand {
  std::string model;
  std::string method = "kl";
  std::string target{kDefaultTarget};
  std::string output;
  TypeOptions types;
  OverrideOptions overrides;
  ImageOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

std::string methods_help() {
  std::string help = "How ranges are chosen:";
  for (const MethodInfo& method : methods()) {
    help += concat("\n  ", method.name, ": ", method.summary);
  }
  return help;
}

// model.onnx -> model.table.json, in the current folder.
std::string default_output(const std::string& model) {
  return std::filesystem::path(model).stem().string() + ".table.json";
}

void report_bad_images(const std::vector<BadImage>& bad) {
  constexpr std::size_t kNamed = 10;
  for (std::size_t i = 0; i < bad.size() && i < kNamed; ++i) warning(bad[i].reason);
  if (!bad.empty()) warning(concat(bad.size(), " images left out (--strict makes this an error)"));
}

void run_calibrate(CalibrateCommand& options) {
  options.run.apply();
  find_method(options.method);  // refused before any work
  QuantizeOptions quantize_options;
  quantize_options.target = options.target;
  quantize_options.types = options.types.choices();
  const Target target = chosen_target(CalibrationTable(), quantize_options);
  const Overrides overrides = options.overrides.read();
  quantize_options.exclude = overrides.exclude;
  const Model model = open_model(options.model);
  const Graph& graph = model.executor->graph();

  CalibrateOptions calibrate_options;
  CollectOptions& collect = calibrate_options.collect;
  collect.tensors = tensors_to_calibrate(graph, target, overrides.exclude);
  collect.preprocess = options.preprocess.choose(model.stored_preprocess(), model.loaded);
  collect.model_fingerprint = fingerprint(model.loaded);
  collect.bad_images = options.images.policy();
  collect.threads = options.run.threads;
  calibrate_options.method = options.method;
  calibrate_options.method_options.scheme = target.activations;
  const ImageSet images = options.images.list();
  CalibrationResult result;
  {
    ProgressDisplay progress("calibrate", "images", options.run.progress_style());
    collect.progress = progress.callback();
    result = calibrate(*model.executor, images, calibrate_options);
  }
  report_bad_images(result.collection.bad);
  CalibrationTable& table = result.table;
  for (const auto& [gone, surviving] : graph.info.aliases) {
    if (table.find(surviving) != nullptr) table.aliases.push_back({gone, surviving});
  }
  apply_overrides(overrides, target.activations, &result.collection, table);
  table.types = quantize_options.types;
  quantize_options.threads = options.run.threads;
  quantize_options.model_fingerprint = table.model_fingerprint;
  fill_weight_entries(graph, quantize_options, table);

  const std::string output =
      options.output.empty() ? default_output(options.model) : options.output;
  write_file(output, write_table(table));
  note(concat("wrote ", output));
  print_result(options.run.json ? json_of(table, output) : text_of(table, output));
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session) {
  const auto options = std::make_shared<CalibrateCommand>();
  CLI::App* command = add_command(
      app, "calibrate", "Run images through the FP32 model and decide the ranges of its tensors",
      "qtool calibrate model.onnx --images photos/calib --preprocess imagenet -o model.table.json\n"
      "  qtool calibrate model.onnx --images photos/calib --weight-bits 6 --range 'relu6_*=0,6'");
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command->add_option("--method", options->method, methods_help())
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--target", options->target, "Back-end that decides what is quantized")
      ->type_name("NAME")
      ->capture_default_str();
  options->overrides.add_to(*command);
  command->add_option("-o,--output", options->output, "Table to write (default: MODEL.table.json)")
      ->type_name("FILE");
  options->types.add_to(*command);
  options->images.add_to(*command);
  options->preprocess.add_to(*command, StoredCheck::kForceable);
  options->run.add_to(*command);
  command->callback([options, &session] { session.run = [options] { run_calibrate(*options); }; });
}

}  // namespace qtool::tool
