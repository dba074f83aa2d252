#include "qtool/pipeline/make_model.h"

#include <chrono>
#include <utility>

#include "pipeline/making.h"

namespace qtool {

LearnReport learn(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                  const MakeOptions& options, StaticInputs& inputs) {
  const Recipe whole = resolved(recipe);
  LearnReport report;
  Making making{fp32, whole, samples, options, inputs, report};
  run_steps(StepGives::kLearned, making);
  return report;
}

MadeModel make_model(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                     const MakeOptions& options) {
  const Recipe whole = resolved(recipe);
  MadeModel made;
  made.inputs.options = static_options(whole);
  made.inputs.options.threads = options.threads;
  made.inputs.options.model_fingerprint = options.model_fingerprint;
  made.inputs.options.version = options.version;
  Making making{fp32, whole, samples, options, made.inputs, made.learned};
  run_steps(StepGives::kTable, making);
  making.begin = std::chrono::steady_clock::now();
  run_steps(StepGives::kLearned, making);
  run_steps(StepGives::kModel, making);
  made.int8 = *std::move(making.int8);
  return made;
}

}  // namespace qtool
