#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "console.h"
#include "files.h"
#include "model.h"
#include "options/run.h"
#include "options/shape.h"
#include "options/target.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/target.h"
#include "report/model_summary.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct InspectOptions {
  std::string model;
  ShapeOptions shapes;
  std::string target = "cpu";
  bool names = false;
  RunOptions run;
};

// Returns nothing if qtool cannot run the model. The other facts about the model are still shown,
// including the operators that are not supported.
std::optional<RunSummary> try_to_compile(const Graph& loaded, const InspectOptions& options) {
  try {
    const Executor executor(prepare(loaded, interrupted), interrupted);
    warn_of_left_out(options.model, executor);
    const InputShapes shapes = options.shapes.concrete(executor.graph());
    const auto plan = executor.compile(shapes, {.observe = {}, .threads = options.run.threads});
    return RunSummary{summarize(*plan),
                      outlook_of(executor.graph(), *plan, find_target(options.target))};
  } catch (const Error& error) {
    const bool of_options = error.code() == ErrorCode::kUsage && options.shapes.given();
    if (error.code() == ErrorCode::kCancelled || of_options) throw;
    note(to_text("not compiled: ", error.what()));
    return std::nullopt;
  }
}

void inspect(InspectOptions& options) {
  options.run.apply();
  const Graph loaded = load_model(options.model);
  ModelSummary model = summarize(loaded);
  if (options.names) model.names = names_of(loaded);
  const std::optional<RunSummary> run = try_to_compile(loaded, options);
  options.run.json ? print_result(json_of(model, run))
                   : print_text(text_of(model, run, result_columns()));
}

}  // namespace

void add_inspect(Program& program, Session& session) {
  const auto options = std::make_shared<InspectOptions>();
  Command& command =
      program.add_command("inspect", "Show what a model consists of and what INT8 would make of it",
                          {"qtool inspect model.onnx"});
  add_model(command, options->model).required();
  options->shapes.add_to(command);
  add_target(command, options->target);
  command.flag("--names", options->names,
               "List the names of all nodes and their tensors, for --exclude and --range");
  options->run.add_to(command);
  command.show_first(
      {"model", "--shape", "--dim", "--target", "--names", "--json", "--quiet", "--help"});
  command.on_parsed([options, &session] { session.run = [options] { inspect(*options); }; });
}

}  // namespace qtool::tool
