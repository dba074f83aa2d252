#pragma once

#include <optional>

#include "base/stopwatch.h"
#include "qtool/calib/collect.h"
#include "qtool/compare/evaluate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

class Executor;

/// The data that the steps read and write while a model is made.
struct Making {
  const Graph& prepared;   ///< the whole network, with nodes that an executor leaves out
  const Executor* fp32;    ///< null: the network is not run, and there are no samples
  Recipe recipe;           ///< resolved; as given for the step that gives the table
  const Samples* samples;  ///< null: none are given
  const MakeOptions& options;
  StaticInputs& inputs;
  LearnReport& report;
  Progress progress{};  ///< of the step that runs
  std::optional<Quantized> int8{};
  std::optional<Verification> verified{};
  Stopwatch since_begin{};

  /// Whether this share of the budget is spent; never where the recipe has none.
  [[nodiscard]] bool is_over(double share) const;
  /// How the samples are read by steps that take CollectOptions. The progress ends the work when
  /// MakeOptions::stop says so.
  [[nodiscard]] CollectOptions collect() const;
};

/// A step: reads what earlier ones wrote, and writes its own.
using StepFunction = void (*)(Making& making);

/// For a resolved recipe. Throws Error(kUsage) for a step from the table to the model that needs
/// samples if there are none, and for choices that have no effect in the mode of the recipe.
void require_fitting(const Recipe& recipe, const Samples* samples);

/// Runs the steps that the recipe asks for and that give `gives`, in their order.
void run_steps(StepGives gives, Making& making);

}  // namespace qtool
