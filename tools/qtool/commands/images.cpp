#include "options/images.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/program.h"
#include "console.h"
#include "model.h"
#include "options/method.h"
#include "options/run.h"
#include "options/target.h"
#include "progress.h"
#include "qtool/compare/evaluate.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "report/set_check.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct ImagesCommand {
  std::string model;
  std::string int8;
  std::string target{kDefaultTarget};
  DecisionOptions decision;
  SampleOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

// The errors of an INT8 model on the same images.
EvalResult errors_of(const ImagesCommand& options, const Model& fp32, const Model& int8,
                     const Samples& samples, const std::optional<SourcedPreprocess>& preprocess) {
  EvalOptions eval;
  if (preprocess) eval.preprocess = preprocess->preprocess;
  eval.bad_images = options.images.policy();
  eval.labels = LabelSource::kUnused;
  eval.threads = options.run.threads;
  ProgressDisplay display("compare", options.images.noun(), options.run.progress_style());
  eval.progress = display.callback();
  return evaluate(*fp32.executor, int8.executor.get(), samples, eval);
}

void run_images(ImagesCommand& options) {
  options.run.apply();
  CalibrateOptions calibrate_options;
  calibrate_options.target = options.target;
  calibrate_options.method = options.decision.method;
  calibrate_options.method_options = options.decision.values;
  calibrate_options.collect.bad_images = options.images.policy();
  calibrate_options.collect.threads = options.run.threads;
  const Target target = calibration_target(calibrate_options);  // throws before any work
  options.preprocess.read();
  Models models;
  if (options.int8.empty()) {
    models.fp32 = open_model(options.model);
  } else {
    models = open_models(options.model, options.int8);
  }
  const Model& model = models.fp32;
  calibrate_options.collect.model_fingerprint = fingerprint(model.loaded);
  const std::optional<SourcedPreprocess> preprocess =
      options.preprocess.choose_for(options.images, model.stored_preprocess(), model.loaded);
  if (preprocess) calibrate_options.collect.preprocess = preprocess->preprocess;
  const Samples samples = options.images.list(model.executor->graph());
  std::optional<EvalResult> errors;
  if (models.int8) errors = errors_of(options, model, *models.int8, samples, preprocess);
  ProgressDisplay display("images", options.images.noun(), options.run.progress_style());
  calibrate_options.collect.progress = progress_of_halves(display.callback(), samples.size());
  const Calibration calibration(*model.executor, std::move(calibrate_options));
  const SetCheck check = check_set(calibration, target, samples);
  if (options.run.json) {
    print_result(json_of(check, samples, errors ? &*errors : nullptr));
    return;
  }
  print_text(text_of(check, samples, result_columns()));
  if (errors) print_text(text_of_errors(*errors, result_columns()));
}

}  // namespace

void add_images(Program& program, Session& session) {
  const auto options = std::make_shared<ImagesCommand>();
  Command& command = program.add_command(
      "images", "Say whether images are enough, and which of them stand out, for calibration",
      {"qtool images model.onnx --images photos/calib --preprocess imagenet",
       "qtool images model.onnx --int8 model.int8.onnx --images photos/eval",
       "qtool images model.onnx --inputs tensors --method minmax --json"});
  add_model(command, options->model).required();
  command
      .option("--int8", options->int8,
              "Quantized model of the network: say which images it answers worst\n"
              "Those with another class than FP32's, with both answers and margins, and those "
              "with the lowest SQNR.")
      .placeholder("MODEL");
  add_target(command, options->target);
  options->decision.add_to(command);
  options->images.add_to(command, SamplesUse::kRun);
  options->preprocess.add_to(command);
  refuse_preprocess_of_tensors(command);
  options->run.add_to(command);
  command.show_first({"model", "--images", "--inputs", "--int8", "--limit", "--preprocess",
                      "--method", "--target", "--threads", "--json", "--quiet", "--help"});
  command.on_parsed([options, &session] { session.run = [options] { run_images(*options); }; });
}

}  // namespace qtool::tool
