#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checks.h"
#include "command.h"
#include "console.h"
#include "model.h"
#include "options_images.h"
#include "options_run.h"
#include "progress.h"
#include "qtool/measure/analyze.h"
#include "report/analysis.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct AnalyzeCommand {
  std::string model;
  std::string int8;
  std::int64_t top = 20;
  ImageOptions images;
  PreprocessOptions preprocess;
  RunOptions run;
};

void run_analyze(AnalyzeCommand& options) {
  options.run.apply();
  options.preprocess.read();
  const ImageSet images = options.images.list();
  const Models models = open_models(options.model, options.int8);
  const std::optional<StoredPreprocess> stored = stored_preprocess_of(models);
  ProgressDisplay progress("analyze", "images", options.run.progress_style());

  AnalyzeOptions analyze_options;
  const SourcedPreprocess preprocess = options.preprocess.choose(stored, models.fp32.loaded);
  analyze_options.preprocess = preprocess.preprocess;
  analyze_options.bad_images = options.images.policy();
  analyze_options.threads = options.run.threads;
  analyze_options.progress = progress.callback();
  const AnalyzeResult result =
      analyze(*models.fp32.executor, *models.int8->executor, images, analyze_options);
  options.run.json
      ? print_result(json_of(result, preprocess))
      : print_text(text_of(result, static_cast<std::size_t>(options.top), result_columns()));
}

}  // namespace

void add_analyze(CLI::App& app, Session& session) {
  const auto options = std::make_shared<AnalyzeCommand>();
  Command* command = add_command(
      app, "analyze", "Find the tensors and weights that an INT8 model loses its accuracy by",
      {"qtool analyze model.onnx --int8 model.int8.onnx --images photos/eval --limit 50"});
  command->add_option("model", options->model, "ONNX model in FP32")
      ->required()
      ->type_name("MODEL");
  command->add_option("--int8", options->int8, "Quantized model of the same network")
      ->required()
      ->type_name("MODEL");
  command->add_option("--top", options->top, "Sources to list, the worst first; 0 lists all")
      ->type_name("N")
      ->check(whole_number(0, 1000000))
      ->capture_default_str();
  command->not_with("--top", {{"--json", {}}});
  options->images.add_to(*command, ImagesUse::kRun);
  options->preprocess.add_to(*command);
  options->run.add_to(*command);
  command->show_first({"model", "--int8", "--images", "--limit", "--preprocess", "--top",
                       "--threads", "--json", "--quiet", "--help"});
  command->callback([options, &session] { session.run = [options] { run_analyze(*options); }; });
}

}  // namespace qtool::tool
