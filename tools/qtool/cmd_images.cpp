#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "command.h"
#include "console.h"
#include "model.h"
#include "options_images.h"
#include "options_method.h"
#include "options_quantization.h"
#include "options_run.h"
#include "progress.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/calibrate.h"
#include "report/set_check.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct ImagesCommand {
  std::string model;
  std::string target{kDefaultTarget};
  DecisionOptions decision;
  SampleOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

void run_images(ImagesCommand& options) {
  options.run.apply();
  CalibrateOptions calibrate_options;
  calibrate_options.target = options.target;
  calibrate_options.method = options.decision.method;
  calibrate_options.method_options = options.decision.values;
  calibrate_options.collect.bad_images = options.images.policy();
  calibrate_options.collect.threads = options.run.threads;
  const Target target = calibration_target(calibrate_options);  // refused before any work
  options.preprocess.read();
  const Model model = open_model(options.model);
  calibrate_options.collect.model_fingerprint = fingerprint(model.loaded);
  const std::optional<SourcedPreprocess> preprocess =
      options.preprocess.choose_for(options.images, model.stored_preprocess(), model.loaded);
  if (preprocess) calibrate_options.collect.preprocess = preprocess->preprocess;
  const Samples samples = options.images.list(model.executor->graph());
  ProgressDisplay display("images", options.images.noun(), options.run.progress_style());
  // Each half counts its own images.
  std::int64_t before = 0;
  calibrate_options.collect.progress = [&, show = display.callback()](std::int64_t done,
                                                                      std::int64_t total) {
    const ProgressAnswer answer =
        show ? show(before + done, samples.size()) : ProgressAnswer::kContinue;
    if (done == total) before += total;
    return answer;
  };
  const Calibration calibration(*model.executor, std::move(calibrate_options));
  const SetCheck check = check_set(calibration, target, samples);
  warn_of(check.bad);
  options.run.json ? print_result(json_of(check, samples))
                   : print_text(text_of(check, samples, result_columns()));
}

}  // namespace

void add_images(CLI::App& app, Session& session) {
  const auto options = std::make_shared<ImagesCommand>();
  Command* command = add_command(
      app, "images", "Say whether images are enough, and which of them stand out, for calibration",
      {"qtool images model.onnx --images photos/calib --preprocess imagenet",
       "qtool images model.onnx --inputs tensors --method minmax --json"});
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  add_target(*command, options->target);
  options->decision.add_to(*command);
  options->images.add_to(*command, SamplesUse::kRun);
  options->preprocess.add_to(*command);
  refuse_preprocess_of_tensors(*command);
  options->run.add_to(*command);
  command->show_first({"model", "--images", "--inputs", "--limit", "--preprocess", "--method",
                       "--target", "--threads", "--json", "--quiet", "--help"});
  command->callback([options, &session] { session.run = [options] { run_images(*options); }; });
}

}  // namespace qtool::tool
