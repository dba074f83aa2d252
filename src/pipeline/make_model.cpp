#include "qtool/pipeline/make_model.h"

#include <chrono>
#include <optional>
#include <utility>

#include "pipeline/making.h"
#include "qtool/calib/overrides.h"
#include "qtool/exec/executor.h"

namespace qtool {

StaticOptions static_options(const Recipe& recipe, const MakeOptions& options) {
  StaticOptions choices = static_options(recipe);
  choices.threads = options.threads;
  choices.model_fingerprint = options.model_fingerprint;
  choices.version = options.version;
  choices.stop = options.stop;
  return choices;
}

StaticInputs inputs_of_table(const Recipe& recipe, CalibrationTable table,
                             const MakeOptions& options) {
  StaticInputs inputs{std::move(table), static_options(recipe, options)};
  if (recipe.mode != QuantizeMode::kStatic) return inputs;
  inputs.options.table_hash = table_hash(inputs.table);
  apply_overrides(recipe.overrides, chosen_target(inputs.table, inputs.options).activations,
                  nullptr, inputs.table);
  return inputs;
}

Recipe as_made(Recipe recipe, const StaticInputs& made) {
  recipe.effort = Recipe().effort;
  recipe.rewrites = made.options.rewrites;
  recipe.rounding = made.options.rounding;
  recipe.bias_correction.reset();
  return recipe;
}

StaticInputs inputs_of_samples(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                               const MakeOptions& options, LearnReport& report) {
  StaticInputs inputs;
  inputs.options = static_options(recipe, options);
  Making making{fp32.whole_graph(), &fp32, recipe, &samples, options, inputs, report};
  run_steps(StepGives::kTable, making);
  return inputs;
}

LearnReport learn(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                  const MakeOptions& options, StaticInputs& inputs) {
  const Recipe whole = resolved(recipe);
  require_fitting(whole, &samples);
  LearnReport report;
  Samples kept = samples;
  kept.keep();  // steps that learn run the samples several times
  Making making{fp32.whole_graph(), &fp32, whole, &kept, options, inputs, report};
  run_steps(StepGives::kLearned, making);
  return report;
}

namespace {

// The way from a table to the model. Adds to `report`.
MadeModel made_of(const Graph& prepared, const Executor* fp32, const Recipe& recipe,
                  StaticInputs inputs, const Samples* samples, const MakeOptions& options,
                  LearnReport report) {
  const Recipe whole = resolved(recipe);
  require_fitting(whole, samples);
  MadeModel made;
  made.inputs = std::move(inputs);
  made.learned = std::move(report);
  std::optional<Samples> kept;
  if (samples != nullptr) kept.emplace(*samples);
  if (kept && !learning_steps(whole).empty()) kept->keep();  // as in learn()
  Making making{prepared, fp32, whole, kept ? &*kept : nullptr, options, made.inputs, made.learned};
  run_steps(StepGives::kLearned, making);
  run_steps(StepGives::kModel, making);
  made.int8 = *std::move(making.int8);
  made.verified = std::move(making.verified);
  return made;
}

}  // namespace

MadeModel make_model(const Executor& fp32, const Recipe& recipe, const Samples& samples,
                     const MakeOptions& options) {
  require_fitting(resolved(recipe), &samples);  // before the samples are observed
  LearnReport report;
  StaticInputs inputs = inputs_of_samples(fp32, recipe, samples, options, report);
  return made_of(fp32.whole_graph(), &fp32, recipe, std::move(inputs), &samples, options,
                 std::move(report));
}

MadeModel make_model(const Executor& fp32, const Recipe& recipe, StaticInputs inputs,
                     const Samples* samples, const MakeOptions& options) {
  return made_of(fp32.whole_graph(), &fp32, recipe, std::move(inputs), samples, options, {});
}

MadeModel make_model(const Graph& prepared, const Recipe& recipe, StaticInputs inputs,
                     const MakeOptions& options) {
  return made_of(prepared, nullptr, recipe, std::move(inputs), nullptr, options, {});
}

}  // namespace qtool
