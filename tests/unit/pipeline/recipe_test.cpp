#include "qtool/pipeline/recipe.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

Recipe with_effort(Effort effort) {
  Recipe recipe;
  recipe.effort = effort;
  return recipe;
}

std::vector<std::string> names_of_learning(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const RecipeStep& step : learning_steps(recipe)) names.emplace_back(step.name);
  return names;
}

TEST(Recipe, LeavesTheTablesRewritesWithoutAnEffort) {
  const Recipe recipe = resolved({});
  EXPECT_EQ(recipe.rewrites, std::nullopt);
  EXPECT_THAT(recipe.rounding, Optional(std::string("nearest")));
  EXPECT_THAT(names_of_learning({}), IsEmpty());
}

TEST(Recipe, TakesTheChoicesOfItsEffort) {
  const Recipe balanced = resolved(with_effort(Effort::kBalanced));
  EXPECT_THAT(balanced.rewrites, Optional(ElementsAre("equalize")));
  EXPECT_THAT(balanced.rounding, Optional(std::string("gptq")));
  EXPECT_THAT(names_of_learning(with_effort(Effort::kBalanced)),
              ElementsAre("judge_choices", "round_weights"));
  const Recipe best = resolved(with_effort(Effort::kBest));
  EXPECT_THAT(best.rounding, Optional(std::string("adaround")));
  EXPECT_THAT(names_of_learning(with_effort(Effort::kBest)),
              ElementsAre("tune_ranges", "round_weights"));
}

TEST(Recipe, PrefersItsOwnChoices) {
  Recipe recipe = with_effort(Effort::kBest);
  recipe.rewrites.emplace();
  recipe.rounding = "nearest";
  recipe.bias_correction = BiasCorrection::kSequential;
  EXPECT_THAT(resolved(recipe).rewrites, Optional(IsEmpty()));
  EXPECT_THAT(names_of_learning(recipe), ElementsAre("tune_ranges", "correct_biases"));
}

TEST(Recipe, BecomesTheOptionsOfQuantize) {
  Recipe recipe = with_effort(Effort::kBalanced);
  recipe.target = "qtool";
  recipe.overrides.exclude = {"first"};
  recipe.overrides.wide = {"x"};
  recipe.types.weight_bits = 6;
  const StaticOptions options = static_options(recipe);
  EXPECT_EQ(options.target, "qtool");
  EXPECT_THAT(options.exclude, ElementsAre("first"));
  EXPECT_THAT(options.wide, ElementsAre("x"));
  EXPECT_EQ(options.types.weight_bits, 6);
  EXPECT_THAT(options.rewrites, Optional(ElementsAre("equalize")));
  EXPECT_EQ(options.rounding, "nearest");  // nothing has been learned yet
}

TEST(Efforts, AreFoundByName) {
  for (const EffortInfo& info : efforts()) {
    EXPECT_EQ(&find_effort(info.name), &info);
    EXPECT_EQ(&info_of(info.effort), &info);
    EXPECT_NO_THROW(static_cast<void>(find_rounding(info.rounding)));
  }
  EXPECT_THROW(static_cast<void>(find_effort("ballanced")), Error);
}

TEST(RecipeSteps, AreInTheOrderOfTheirResults) {
  StepGives last = StepGives::kTable;
  for (const RecipeStep& step : recipe_steps()) {
    EXPECT_GE(step.gives, last) << step.name;
    last = step.gives;
  }
  EXPECT_EQ(recipe_steps().front().name, "calibrate");
  EXPECT_EQ(last, StepGives::kModel);
}

}  // namespace
}  // namespace qtool
