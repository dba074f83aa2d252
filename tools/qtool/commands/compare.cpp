#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/program.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "options/run.h"
#include "overwrite_check.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/graph/model_format.h"
#include "report/diff/array_diff_text.h"
#include "report/diff/model_diff_text.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

struct CompareCommand {
  std::string a;
  std::string b;
  std::optional<double> min_sqnr;
  std::optional<double> max_abs;
  std::optional<double> tolerance;
  RunOptions run;
};

void require_arrays(const std::string& path) {
  if (std::filesystem::is_directory(path) || holds_arrays(path)) return;
  throw Error(ErrorCode::kUsage, to_text("'", path, "': expected a model (", model_endings(),
                                         "), .npy, .npz, .pb, .bin, .raw or a folder of arrays"));
}

void compare_models(const CompareCommand& options) {
  const Graph a = load_model(options.a);
  const Graph b = load_model(options.b);
  const ModelDiff diff = diff_of(a, b, interrupted);
  const ModelLimits limits{{options.min_sqnr, options.max_abs}, options.tolerance};
  options.run.json
      ? print_result(json_of(diff, limits))
      : print_text(text_of(diff, limits, result_columns(), options.run.quiet_length()));
  if (limits.accept(diff)) return;
  throw Error(ErrorCode::kMismatch, to_text("models '", options.a, "' and '", options.b,
                                            "' differ in structure or by more than the limits"));
}

// A folder of arrays may be called as a model is.
bool is_model_file(const std::string& path) {
  return is_model(path) && !std::filesystem::is_directory(path);
}

void run_compare(CompareCommand& options) {
  options.run.apply();
  const bool model_a = is_model_file(options.a);
  const bool model_b = is_model_file(options.b);
  if (model_a && model_b) return compare_models(options);
  if (options.tolerance) {
    throw Error(ErrorCode::kUsage,
                to_text("--tolerance has no effect without two models (", model_endings(), ")"));
  }
  if (model_a || model_b) {
    const std::string& model = model_a ? options.a : options.b;
    const std::string& other = model_a ? options.b : options.a;
    throw Error(ErrorCode::kUsage, to_text("'", model, "' is a model and '", other,
                                           "' is none, expected two models or two sets of arrays"));
  }
  for (const std::string& path : {options.a, options.b}) {
    require_arrays(path);
    declare_input(path);
  }
  ProgressDisplay progress("compare", "arrays", options.run.progress_style(), FinalLine::kNone);
  const ArraysDiff diff = diff_arrays(options.a, options.b, progress.callback());
  const ArrayLimits limits{options.min_sqnr, options.max_abs};
  options.run.json
      ? print_result(json_of(diff, limits))
      : print_text(text_of(diff, limits, result_columns(), options.run.quiet_length()));
  if (const ArrayDiff* beyond = diff.first_beyond(limits)) {
    throw Error(ErrorCode::kMismatch,
                to_text("'", beyond->name, "' differs by more than the limits: SQNR ",
                        to_fixed(beyond->sqnr_db, 2), " dB, largest error ",
                        static_cast<float>(beyond->max_abs_error)));
  }
  if (!diff.within(limits)) {
    throw Error(ErrorCode::kMismatch,
                to_text("'", options.a, "' and '", options.b, "' do not hold the same tensors"));
  }
}

}  // namespace

void add_compare(Program& program, Session& session) {
  const auto options = std::make_shared<CompareCommand>();
  Command& command = program.add_command(
      "compare", "Compare two models, files of tensors, or folders of infer --dump",
      {"qtool compare a.npy b.npy --min-sqnr 30", "qtool compare before after",
       "qtool compare model.onnx model.int8.onnx"});
  command
      .option("a", options->a,
              "Model, file or folder; the reference\n.npy, .npz, .pb (TensorProto), "
              ".bin and .raw (float32 as in memory).")
      .required()
      .placeholder("A");
  command.option("b", options->b, "Model, file or folder to compare with it")
      .required()
      .placeholder("B");
  command
      .option("--min-sqnr", options->min_sqnr,
              "Lowest SQNR in dB that is accepted\nExit code 1 below it.")
      .placeholder("DB")
      .check(decibels());
  command
      .option("--max-abs", options->max_abs,
              "Largest difference of two elements that is accepted\nExit code 1 above it.")
      .placeholder("X")
      .check(number([](double x) { return x >= 0.0; }, "a number of at least 0"));
  command
      .option("--tolerance", options->tolerance,
              "Largest relative difference of scales that is accepted\n"
              "Of two models. Exit code 1 above it, and where zero points differ.")
      .placeholder("SHARE")
      .check(number([](double share) { return share >= 0.0; }, "a number of at least 0"));
  options->run.add_to(command, ThreadsUse::kNo);
  command.show_first(
      {"a", "b", "--min-sqnr", "--max-abs", "--tolerance", "--json", "--quiet", "--help"});
  command.on_parsed([options, &session] { session.run = [options] { run_compare(*options); }; });
}

}  // namespace qtool::tool
