#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "command.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options_run.h"
#include "qtool/base/error.h"
#include "qtool/exec/prepare.h"
#include "report/render.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct InspectOptions {
  std::string model;
  std::string shape;
  RunOptions run;
};

// A model that qtool cannot run is shown too, with the operators that are missing.
std::optional<PlanSummary> try_to_compile(const Graph& loaded, const InspectOptions& options) {
  try {
    const Executor executor(prepare(loaded, interrupted), interrupted);
    InputShapes shapes;
    if (!options.shape.empty() || loaded.inputs().size() == 1) {
      const Shape shape = concrete_input_shape(executor.graph(), options.shape);
      shapes.emplace(executor.graph().value(executor.graph().inputs().front()).name, shape);
    }
    return summarize(*executor.compile(shapes, {.observe = {}, .threads = options.run.threads}));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    note(concat("MACs are not known: ", error.what()));
    return std::nullopt;
  }
}

void inspect(InspectOptions& options) {
  options.run.apply();
  const Graph loaded = load_model(options.model);
  const ModelSummary model = summarize(loaded);
  const std::optional<PlanSummary> plan = try_to_compile(loaded, options);
  options.run.json ? print_result(json_of(model, plan))
                   : print_text(text_of(model, plan, result_columns()));
}

}  // namespace

void add_inspect(CLI::App& app, Session& session) {
  const auto options = std::make_shared<InspectOptions>();
  Command* command =
      add_command(app, "inspect", "Show what a model consists of", {"qtool inspect model.onnx"});
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command->add_option("--shape", options->shape, "Input shape, when the model leaves it open")
      ->type_name("NxCxHxW");
  options->run.add_to(*command);
  command->show_first({"model", "--shape", "--json", "--quiet", "--help"});
  command->callback([options, &session] { session.run = [options] { inspect(*options); }; });
}

}  // namespace qtool::tool
