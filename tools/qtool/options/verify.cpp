#include "options/verify.h"

#include <limits>
#include <memory>

#include "base/text.h"
#include "cli/value_checks.h"
#include "console.h"
#include "files.h"
#include "progress.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/model_format.h"
#include "signals.h"

namespace qtool::tool {

Graph WrittenModel::load() const {
  // The files do not yet have the names that say their format and by which the first one refers to
  // the second.
  constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  ModelFiles bytes{read_input(files[0], kMaxBytes), {}, data_name};
  if (files.size() > 1) bytes.data = read_input(files[1], kMaxBytes);
  return load_model_files(bytes, name, interrupted);
}

void WrittenModel::require_readable() const {
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::is_regular_file(file)) return;
  }
  try {
    static_cast<void>(prepare(load(), interrupted));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    throw Error(error.code(), to_text("model '", name, "', which is not kept because it cannot be ",
                                      "read again: ", error.what()));
  }
}

Model WrittenModel::open() const {
  Model model;
  model.path = name;
  model.loaded = load();
  model.executor = std::make_unique<Executor>(prepare(model.loaded, interrupted), interrupted);
  warn_of_left_out(model.path, *model.executor);
  return model;
}

namespace {

Verification run_both(const char* what, const Model& fp32, const Executor& int8,
                      const Samples& samples, const MakeOptions& make, const RunOptions& run,
                      double min_sqnr_db) {
  EvalOptions options;
  options.preprocess = make.preprocess;
  options.bad_images = make.bad_images;
  ProgressDisplay progress(what, to_text(samples.noun(), "s"), run.progress_style());
  options.threads = run.threads;
  options.progress = progress.callback();
  return verify(*fp32.executor, int8, samples, options, min_sqnr_db);
}

}  // namespace

Verification verify_with_progress(const Model& fp32, const Model& int8, const Samples& samples,
                                  const MakeOptions& make, const RunOptions& run,
                                  double min_sqnr_db) {
  return run_both("verify", fp32, *int8.executor, samples, make, run, min_sqnr_db);
}

std::optional<Verification> measure_with_progress(const Model& fp32, const Graph& int8,
                                                  const Samples& samples, const MakeOptions& make,
                                                  const RunOptions& run) {
  try {
    const Executor made(prepare(int8, interrupted), interrupted);
    return run_both("compare", fp32, made, samples, make, run, kDefaultVerifyDb);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnsupported) return std::nullopt;
    throw;
  }
}

std::optional<FunctionPairs> measure_function_pairs(const Model& fp32, const Quantized& int8,
                                                    std::span<const std::string> exclude,
                                                    const Samples& samples,
                                                    const MakeOptions& make) {
  SampleRunOptions options;
  options.preprocess = make.preprocess;
  options.bad_images = make.bad_images;
  options.stop = interrupted;
  try {
    const Executor made(prepare(int8.graph, interrupted), interrupted);
    return function_pairs(*fp32.executor, made, exclude, samples, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    return std::nullopt;  // the model is worth more than what it says of itself
  }
}

void add_verify_limit(Command& command, double& min_sqnr_db) {
  command
      .option("--min-sqnr", min_sqnr_db,
              "SQNR in dB that every output of the written model must reach\n"
              "Pooled over the samples. 3: the noise has half the power of the signal.")
      .placeholder("DB")
      .check(decibels())
      .show_default();
}

void VerifyOptions::add_to(Command& command) {
  command.flag("--verify", verify_,
               "Read the written model again and compare it with FP32\n"
               "On --images, at most 20 of them. A model that fails is not kept.");
  add_verify_limit(command, min_sqnr_db_);
  command.goes_with("--min-sqnr", {{"--verify", {}}});
}

void VerifyOptions::apply(bool has_samples) const {
  if (verify_ && !has_samples) {
    throw Error(ErrorCode::kUsage, "--verify needs --images or --inputs");
  }
}

}  // namespace qtool::tool
