#include "qtool/pipeline/recipe.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/choices.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

std::span<const EffortInfo> efforts() noexcept {
  static constexpr auto kEfforts = std::to_array<EffortInfo>({
#define QTOOL_EFFORT(word, kind, ...) \
  EffortInfo{.effort = Effort::kind, .name = #word, __VA_ARGS__},
#include "pipeline/efforts.inc"
  });
  return kEfforts;
}

const EffortInfo& info_of(Effort effort) noexcept {
  return *std::ranges::find(efforts(), effort, &EffortInfo::effort);
}

const EffortInfo& find_effort(std::string_view name) {
  return find_by_name(efforts(), name, "effort");
}

Recipe resolved(Recipe recipe) {
  const EffortInfo& effort = info_of(recipe.effort);
  const bool judges = effort.judges && recipe.may_judge;
  JudgedChoices& judged = recipe.judged;
  judged.rewrites = judged.rewrites || (judges && !recipe.rewrites);
  judged.rounding = judged.rounding || (judges && !recipe.rounding);
  judged.bias_correction = judged.bias_correction || (judges && !recipe.bias_correction);
  if (effort.equalizes && !recipe.rewrites) recipe.rewrites = {"equalize"};
  if (!recipe.rounding) recipe.rounding = effort.rounding;
  if (!recipe.bias_correction) recipe.bias_correction = BiasCorrection::kTable;
  recipe.tune_ranges = recipe.tune_ranges || effort.tunes_ranges;
  return recipe;
}

StaticOptions static_options(const Recipe& recipe) {
  const Recipe whole = resolved(recipe);
  StaticOptions options;
  options.target = whole.target;
  options.exclude = whole.overrides.exclude;
  options.types = whole.types;
  options.rewrites = whole.rewrites;
  options.bias_correction = whole.bias_correction.value();
  options.wide = whole.overrides.wide;
  options.form = whole.form;
  const std::string& rounding = whole.rounding.value();
  if (find_rounding(rounding).needs == RoundingNeeds::kNothing) options.rounding = rounding;
  return options;
}

std::vector<RecipeStep> learning_steps(const Recipe& recipe) {
  const Recipe whole = resolved(recipe);
  std::vector<RecipeStep> wanted;
  for (const RecipeStep& step : recipe_steps()) {
    const bool learns = step.needs == StepNeeds::kSamples && step.gives == StepGives::kLearned;
    if (learns && step.is_wanted(whole)) wanted.push_back(step);
  }
  return wanted;
}

}  // namespace qtool
