// Held samples judge the choices of an effort.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/paired_gains.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/make_model.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JudgeChoices : public testing::Test {
 protected:
  JudgeChoices() {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    recipe_.method = "minmax";
    recipe_.types.weight_bits = 4;  // coarse weights: rounding them well is worth decibels
    recipe_.effort = Effort::kBalanced;
  }
  [[nodiscard]] MadeModel made(const Recipe& recipe, int images = 30) const {
    return make_model(fp32_, recipe, Samples(folder_.list()).spread(images), options_);
  }
  [[nodiscard]] static std::vector<std::string> names(const MadeModel& made) {
    std::vector<std::string> names;
    for (const JudgedChoice& choice : made.learned.judged) names.push_back(choice.name);
    return names;
  }
  /// A recipe that names what `judged` kept, so that nothing is judged.
  [[nodiscard]] Recipe stated(const MadeModel& judged) const {
    Recipe recipe = recipe_;
    recipe.rewrites = judged.inputs.options.rewrites.value_or(judged.inputs.table.rewrites.names);
    recipe.rounding = "nearest";
    recipe.bias_correction = BiasCorrection::kTable;
    for (const JudgedChoice& choice : judged.learned.judged) {
      if (!choice.is_kept) continue;
      if (choice.name == "gptq") recipe.rounding = "gptq";
      if (choice.name == "sequential") recipe.bias_correction = BiasCorrection::kSequential;
    }
    return recipe;
  }

  ImageFolder folder_{kLayerSide, 30};
  Executor fp32_{prepare(four_layers())};
  Recipe recipe_;
  MakeOptions options_;
};

TEST_F(JudgeChoices, KeptOnesLearnFromAllSamples) {
  const MadeModel judged = made(recipe_);
  EXPECT_THAT(names(judged), ElementsAre("sequential", "gptq"));  // nothing to equalize
  for (const JudgedChoice& choice : judged.learned.judged) {
    EXPECT_EQ(choice.samples % 10, 0);  // thirds of the images
    EXPECT_EQ(choice.is_kept, is_clear_gain(choice.gains, 0.1)) << choice.name;
  }
  EXPECT_TRUE(std::ranges::any_of(judged.learned.judged, &JudgedChoice::is_kept));
  const MadeModel named = made(stated(judged));
  EXPECT_THAT(named.learned.judged, IsEmpty());
  EXPECT_EQ(save_onnx_bytes(judged.int8.graph), save_onnx_bytes(named.int8.graph));
}

TEST_F(JudgeChoices, ChoicesOfTheUserStand) {
  recipe_.rewrites.emplace();
  recipe_.bias_correction = BiasCorrection::kSequential;
  const MadeModel judged = made(recipe_);
  EXPECT_THAT(names(judged), ElementsAre("gptq"));
  EXPECT_EQ(judged.inputs.options.bias_correction, BiasCorrection::kSequential);
  EXPECT_EQ(judged.inputs.options.rewrites, std::vector<std::string>());
}

// What leaves the model as it is, is not judged: the steps that follow say why it has no effect.
TEST_F(JudgeChoices, ChoicesWithoutEffectStand) {
  Net net;
  net.input("x", {1, 3, kLayerSide, kLayerSide});
  Tensor w(DType::kFloat32, {2, 3, 1, 1});
  for (float& value : w.values<float>()) value = 0.5F;  // exact in any number of bits
  net.constant("w", std::move(w));
  net.output(net.op("Conv", "a", {"x", "w"}));
  const Executor fp32(prepare(std::move(net.graph)));
  const MadeModel judged = make_model(fp32, recipe_, folder_.list(), options_);
  for (const JudgedChoice& choice : judged.learned.judged) EXPECT_EQ(choice.name, "sequential");
  EXPECT_EQ(judged.inputs.options.rounding, "gptq");
  EXPECT_EQ(judged.inputs.options.rewrites, std::vector<std::string>{"equalize"});
}

// Samples of several shapes are learned from, but the judge compares samples of one shape.
TEST_F(JudgeChoices, SamplesThatCannotBeComparedAreLearnedFrom) {
  Net net;
  const ValueId x = net.graph.add_value("x");
  const std::vector<Dim> open{{1, {}}, {3, {}}, {std::nullopt, "h"}, {std::nullopt, "w"}};
  net.graph.declare(x, DType::kFloat32, open);
  net.graph.add_input(x);
  net.constant("w", random_floats({4, 3, 3, 3}, 1));
  net.output(net.op("Conv", "a", {"x", "w"}));
  const Executor fp32(prepare(std::move(net.graph)));
  folder_.add("larger.ppm", 7, 2 * kLayerSide);
  const MadeModel made = make_model(fp32, recipe_, folder_.list(), options_);
  EXPECT_THAT(made.learned.judged, IsEmpty());
  EXPECT_EQ(made.inputs.options.rounding, "gptq");
}

TEST_F(JudgeChoices, AFewSamplesJudgeNothing) {
  const MadeModel all = made(recipe_, 29);
  EXPECT_THAT(all.learned.judged, IsEmpty());
  EXPECT_EQ(all.inputs.options.rounding, "gptq");
  EXPECT_EQ(all.inputs.options.rewrites, std::vector<std::string>{"equalize"});
  EXPECT_EQ(all.inputs.options.bias_correction, BiasCorrection::kTable);
}

TEST_F(JudgeChoices, DoesNotDependOnThreads) {
  options_.threads = 1;
  const std::string one = save_onnx_bytes(made(recipe_).int8.graph);
  options_.threads = 3;
  EXPECT_EQ(save_onnx_bytes(made(recipe_).int8.graph), one);
}

TEST_F(JudgeChoices, TellsHowFarItIs) {
  options_.threads = 1;  // so that the samples are counted in order
  std::vector<std::int64_t> done;
  std::int64_t total = 0;
  options_.begin = [&](const RecipeStep& step) {
    if (step.name != "judge_choices") return Progress();
    return Progress([&](std::int64_t one, std::int64_t all) {
      EXPECT_LE(one, all);
      done.push_back(one);
      EXPECT_TRUE(total == 0 || total == all);
      total = all;
      return ProgressAnswer::kContinue;
    });
  };
  static_cast<void>(made(recipe_));
  ASSERT_GT(done.size(), 30U);
  EXPECT_EQ(done.back(), total);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

}  // namespace
}  // namespace qtool
