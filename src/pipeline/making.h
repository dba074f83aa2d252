#pragma once

#include <chrono>
#include <optional>

#include "qtool/calib/collect.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

class Executor;

/// A model on its way: what its steps read and write.
struct Making {
  const Executor& fp32;
  const Recipe& recipe;  ///< resolved
  const Samples& samples;
  const MakeOptions& options;
  StaticInputs& inputs;
  LearnReport& report;
  Progress progress{};  ///< of the step that runs
  std::optional<Quantized> int8{};
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  /// Whether this share of the budget is spent; never where the recipe has none.
  [[nodiscard]] bool is_over(double share) const;
  /// How the samples are read by steps that take CollectOptions. The progress ends the work when
  /// MakeOptions::stop says so.
  [[nodiscard]] CollectOptions collect() const;
};

/// A step: reads what earlier ones wrote, and writes its own.
using StepFunction = void (*)(Making& making);

/// Runs the wanted steps that give one thing.
void run_steps(StepGives gives, Making& making);

/// How Calibration is told what a recipe says.
CalibrateOptions calibrate_options(const Recipe& recipe, const MakeOptions& options);

}  // namespace qtool
