#include "pipeline/making.h"

#include <array>

#include "base/stop.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

#define QTOOL_STEP(name, needs, gives, counts) \
  bool wants_##name(const Recipe& recipe);     \
  void step_##name(Making& making);
#include "pipeline/steps.inc"

namespace {

constexpr auto kStepFunctions = std::to_array<StepFunction>({
#define QTOOL_STEP(name, needs, gives, counts) step_##name,
#include "pipeline/steps.inc"
});

}  // namespace

std::span<const RecipeStep> recipe_steps() noexcept {
  static constexpr auto kSteps = std::to_array<RecipeStep>({
#define QTOOL_STEP(name, needs, gives, counts) \
  {#name, counts, StepNeeds::needs, StepGives::gives, wants_##name},
#include "pipeline/steps.inc"
  });
  return kSteps;
}

bool Making::is_over(double share) const {
  return info_of(recipe.effort).has_budget &&
         since_begin.seconds() >= share * recipe.budget_seconds;
}

CollectOptions Making::collect() const {
  CollectOptions collect;
  collect.preprocess = options.preprocess;
  collect.bad_images = options.bad_images;
  collect.threads = options.threads;
  collect.model_fingerprint = options.model_fingerprint;
  collect.progress = [this](std::int64_t done, std::int64_t total) {
    if (options.stop && options.stop()) return ProgressAnswer::kStop;
    return progress ? progress(done, total) : ProgressAnswer::kContinue;
  };
  return collect;
}

void require_fitting(const Recipe& recipe, const Samples* samples) {
  const bool has_ranges = recipe.mode == QuantizeMode::kStatic;
  const auto require_effect = [&](bool asked, std::string_view what) {
    if (has_ranges || !asked) return;
    throw Error(ErrorCode::kUsage, to_text(what, " no effect in mode ", name_of(recipe.mode)));
  };
  const Overrides& given = recipe.overrides;
  require_effect(!given.ranges.empty() || !given.scales.empty() || !given.wide.empty(),
                 "overrides: ranges, scales and wide tensors have");
  require_effect(recipe.form != ModelForm::kQdq, to_text("form ", name_of(recipe.form), " has"));
  for (const RecipeStep& step : recipe_steps()) {
    if (step.gives == StepGives::kTable || step.needs != StepNeeds::kSamples) continue;
    if (!step.is_wanted(recipe)) continue;
    require_effect(step.gives == StepGives::kLearned, to_text("step '", step.name, "' has"));
    if (samples == nullptr) {
      throw Error(ErrorCode::kUsage, to_text("step '", step.name, "' needs images or tensors"));
    }
  }
  require_effect(recipe.rewrites && !recipe.rewrites->empty(), "rewrites have");
}

void run_steps(StepGives gives, Making& making) {
  for (std::size_t i = 0; i < kStepFunctions.size(); ++i) {
    const RecipeStep& step = recipe_steps()[i];
    if (step.gives != gives || !step.is_wanted(making.recipe)) continue;
    check_stop(making.options.stop);
    making.progress = making.options.begin ? making.options.begin(step) : Progress();
    const Stopwatch one;
    kStepFunctions[i](making);
    making.report.took.push_back({step.name, one.seconds()});
    if (making.options.end) making.options.end(step, making.report);
  }
}

}  // namespace qtool
