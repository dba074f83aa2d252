#include "qtool/pipeline/make_model.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "on_images/round_on_images.h"
#include "on_images/sequential_correction.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/on_images/tune_ranges.h"
#include "qtool/pipeline/calibrate.h"
#include "support/code_of.h"
#include "support/image_folder.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMadeSide = 8;

/// Two convolutions of random weights with a Relu between them.
Graph two_layers() {
  Net net;
  net.input("image", {1, 3, kMadeSide, kMadeSide});
  net.constant("a_w", random_floats({4, 3, 1, 1}, 1));
  net.constant("b_w", random_floats({2, 4, 3, 3}, 2));
  net.op("Conv", "a", {"image", "a_w"});
  net.op("Relu", "a_relu", {"a_out"});
  net.output(net.op("Conv", "b", {"a_relu_out", "b_w"}));
  return prepare(std::move(net.graph));
}

class MakeModel : public testing::Test {
 protected:
  MakeModel() {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    recipe_.method = "minmax";
    recipe_.types.weight_bits = 4;  // coarse weights: something can be learned
  }
  [[nodiscard]] MadeModel made() const {
    return make_model(fp32_, recipe_, folder_.list(), options_);
  }
  [[nodiscard]] static std::string bytes_of(const Quantized& quantized) {
    return save_onnx_bytes(quantized.graph);
  }

  ImageFolder folder_{kMadeSide, 6};
  Executor fp32_{two_layers()};
  Recipe recipe_;
  MakeOptions options_;
};

TEST_F(MakeModel, EqualsItsStepsOneByOne) {
  recipe_.effort = Effort::kBalanced;
  recipe_.tune_ranges = true;
  recipe_.bias_correction = BiasCorrection::kSequential;
  const MadeModel made_at_once = made();

  const Samples samples = folder_.list();
  CalibrateOptions calibrate_options;
  calibrate_options.types = recipe_.types;
  calibrate_options.method = "minmax";
  calibrate_options.collect.preprocess = options_.preprocess;
  StaticInputs inputs{calibrate(fp32_, samples, calibrate_options).table, static_options(recipe_)};
  SampleRunOptions run;
  run.preprocess = options_.preprocess;
  inputs.learned.tuned_ranges =
      tune_ranges(fp32_, inputs.table, inputs.options, {}, samples, run).ranges;
  inputs.options.rounding = "gptq";
  const CollectOptions& collect = calibrate_options.collect;
  inputs.learned.rounded =
      round_on_images(fp32_, inputs.table, inputs.options, inputs.learned, samples, collect)
          .weights;
  inputs.learned.bias_shifts =
      sequential_bias_shifts(fp32_, inputs.table, inputs.options, inputs.learned, samples, collect)
          .shifts;
  ASSERT_FALSE(inputs.learned.rounded.empty());
  EXPECT_EQ(bytes_of(made_at_once.int8), bytes_of(quantize(fp32_.graph(), inputs)));
}

TEST_F(MakeModel, DoesNotDependOnThreads) {
  recipe_.effort = Effort::kBest;
  const std::string bytes = bytes_of(made().int8);
  options_.threads = 3;
  EXPECT_EQ(bytes_of(made().int8), bytes);
}

TEST_F(MakeModel, TellsWhichStepRuns) {
  recipe_.effort = Effort::kBalanced;
  std::vector<std::string> begun;
  std::vector<std::string> ended;
  options_.begin = [&](const RecipeStep& step) {
    begun.emplace_back(step.name);
    return Progress();
  };
  options_.end = [&](const RecipeStep& step, const LearnReport& report) {
    ended.emplace_back(step.name);
    EXPECT_EQ(report.took.back().step, step.name);
  };
  const MadeModel result = made();
  const std::vector<std::string> steps{"calibrate", "judge_choices", "round_weights", "quantize"};
  EXPECT_EQ(begun, steps);
  EXPECT_EQ(ended, steps);
  EXPECT_EQ(result.inputs.options.rounding, "gptq");
  EXPECT_THAT(result.int8.report.nearest_layers, IsEmpty());
}

TEST_F(MakeModel, StopsWithinAStep) {
  recipe_.effort = Effort::kBalanced;
  bool stopped = false;
  options_.stop = [&] { return stopped; };
  for (const std::vector<std::string>& rewrites :
       {std::vector<std::string>{}, std::vector<std::string>{"equalize"}}) {
    recipe_.rewrites = rewrites;
    for (const std::string_view last : {"round_weights", "quantize"}) {
      stopped = false;
      options_.begin = [&](const RecipeStep& step) {
        stopped = step.name == last;
        return Progress();
      };
      EXPECT_EQ(code_of([&] { static_cast<void>(made()); }), ErrorCode::kCancelled) << last;
    }
  }
}

TEST_F(MakeModel, StopsWhileRangesAreDecided) {
  CalibrateOptions calibrate_options = qtool::calibrate_options(recipe_);
  calibrate_options.collect.preprocess = options_.preprocess;
  bool stopped = false;
  calibrate_options.stop = [&] { return stopped; };
  for (const std::vector<std::string>& rewrites :
       {std::vector<std::string>{}, std::vector<std::string>{"equalize"}}) {
    calibrate_options.rewrites = rewrites;
    const Calibration calibration(fp32_, calibrate_options);
    stopped = false;
    const Collection collection = calibration.collect(folder_.list());
    EXPECT_NO_THROW(static_cast<void>(calibration.decide(collection)));
    stopped = true;
    EXPECT_EQ(code_of([&] { static_cast<void>(calibration.decide(collection)); }),
              ErrorCode::kCancelled);
  }
}

// The modes without a table take the same way, and need no network that runs.
TEST_F(MakeModel, MakesEveryMode) {
  const CalibrationTable table = made().inputs.table;
  const Graph& graph = fp32_.graph();
  const StaticInputs inputs = inputs_of_table(recipe_, table, options_);
  EXPECT_EQ(bytes_of(make_model(graph, recipe_, inputs, options_).int8),
            bytes_of(make_model(fp32_, recipe_, inputs, nullptr, options_).int8));

  DynamicOptions dynamic;
  dynamic.weights.bits = 4;
  recipe_.mode = QuantizeMode::kDynamic;
  StaticInputs with_means = inputs_of_table(recipe_, table, options_);
  ASSERT_NE(bytes_of(quantize(graph, dynamic, &table)), bytes_of(quantize(graph, dynamic)));
  EXPECT_EQ(bytes_of(make_model(graph, recipe_, with_means, options_).int8),
            bytes_of(quantize(graph, dynamic, &table)));
  EXPECT_EQ(bytes_of(make_model(graph, recipe_, inputs_of_table(recipe_, {}, options_)).int8),
            bytes_of(quantize(graph, dynamic)));
  recipe_.bias_correction = BiasCorrection::kOff;
  EXPECT_EQ(bytes_of(make_model(graph, recipe_, with_means, options_).int8),
            bytes_of(quantize(graph, dynamic)));

  WeightOnlyOptions weight_only;
  weight_only.weights.bits = 4;
  recipe_.mode = QuantizeMode::kWeightOnly;
  EXPECT_EQ(bytes_of(make_model(graph, recipe_, with_means, options_).int8),
            bytes_of(quantize(graph, weight_only)));
}

TEST_F(MakeModel, RefusesChoicesWithoutEffectInItsMode) {
  recipe_.mode = QuantizeMode::kDynamic;
  const auto refusal = [&](const Recipe& recipe) -> std::string {
    const Samples samples = folder_.list();
    try {
      static_cast<void>(make_model(fp32_, recipe, StaticInputs{}, &samples, options_));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(recipe_), "");
  Recipe with_range = recipe_;
  with_range.overrides.ranges = {{"a_relu_out", {0.0F, 2.0F}}};
  EXPECT_THAT(refusal(with_range), HasSubstr("ranges, scales and wide tensors have no effect"));
  Recipe learning = recipe_;
  learning.tune_ranges = true;
  EXPECT_THAT(refusal(learning), HasSubstr("step 'tune_ranges' has no effect in mode dynamic"));
  Recipe rewriting = recipe_;
  rewriting.rewrites = {"equalize"};
  EXPECT_THAT(refusal(rewriting), HasSubstr("rewrites have no effect in mode dynamic"));
  Recipe formed = recipe_;
  formed.form = ModelForm::kQOperator;
  EXPECT_THAT(refusal(formed), HasSubstr("form qoperator has no effect in mode dynamic"));
  // Refused before the samples are observed.
  options_.begin = [](const RecipeStep& step) {
    ADD_FAILURE() << "step " << step.name;
    return Progress();
  };
  const Samples samples = folder_.list();
  EXPECT_EQ(code_of([&] { static_cast<void>(make_model(fp32_, learning, samples, options_)); }),
            ErrorCode::kUsage);
  StaticInputs inputs;
  EXPECT_EQ(code_of([&] { static_cast<void>(learn(fp32_, learning, samples, options_, inputs)); }),
            ErrorCode::kUsage);
}

TEST_F(MakeModel, ComparesTheModelWhereItsRecipeAsks) {
  EXPECT_EQ(made().verified, std::nullopt);
  recipe_.min_sqnr_db = 1.0;
  const std::optional<Verification> good = made().verified;
  ASSERT_TRUE(good);
  EXPECT_THAT(good->faults, IsEmpty());
  EXPECT_EQ(good->samples, 6);
  recipe_.min_sqnr_db = 190.0;
  EXPECT_THAT(made().verified->faults, SizeIs(1));
}

TEST_F(MakeModel, ContinuesFromATable) {
  recipe_.effort = Effort::kBalanced;
  recipe_.overrides.ranges = {{"a_relu_out", {0.0F, 2.0F}}};
  const MadeModel whole = made();
  LearnReport report;
  const Samples samples = folder_.list();
  const StaticInputs inputs = inputs_of_samples(fp32_, recipe_, samples, options_, report);
  EXPECT_THAT(inputs.table.rewrites.names, IsEmpty());  // those of the effort come with the model
  EXPECT_EQ(bytes_of(make_model(fp32_, recipe_, inputs, &samples, options_).int8),
            bytes_of(whole.int8));
}

// The model names the table as it was read, although the recipe changes ranges of it.
TEST_F(MakeModel, NamesTheTableAsItWasGiven) {
  const CalibrationTable table = made().inputs.table;
  recipe_.overrides.ranges = {{"a_relu_out", {0.0F, 2.0F}}};
  StaticInputs inputs = inputs_of_table(recipe_, table, options_);
  EXPECT_EQ(inputs.table.find("a_relu_out")->range.max, 2.0F);
  const MadeModel model = make_model(fp32_, recipe_, std::move(inputs), nullptr, options_);
  EXPECT_EQ(model.int8.graph.info.metadata.at(std::string(kTableHashKey)), table_hash(table));
}

TEST_F(MakeModel, NamesTheStepThatLacksSamples) {
  StaticInputs inputs = made().inputs;
  recipe_.tune_ranges = true;
  try {
    static_cast<void>(make_model(fp32_, recipe_, std::move(inputs), nullptr, options_));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("'tune_ranges'"));
  }
}

// Without time the ranges stay as they are, and adaround gives way to gptq.
TEST_F(MakeModel, EndsWithItsBudget) {
  recipe_.effort = Effort::kBest;
  recipe_.budget_seconds = 0.0;
  const MadeModel hurried = made();
  EXPECT_TRUE(hurried.learned.tuning_ran_out_of_time);
  EXPECT_THAT(hurried.inputs.learned.tuned_ranges, IsEmpty());
  Recipe with_gptq = recipe_;
  with_gptq.effort = Effort::kBalanced;
  const MadeModel unhurried = make_model(fp32_, with_gptq, folder_.list(), options_);
  ASSERT_EQ(hurried.inputs.learned.rounded.size(), unhurried.inputs.learned.rounded.size());
  for (const auto& [layer, rounded] : hurried.inputs.learned.rounded) {
    EXPECT_TRUE(identical(*rounded.integers, *unhurried.inputs.learned.rounded.at(layer).integers))
        << layer;
  }
}

// What may be remembered between runs is asked for once, under a key of all that the integers
// depend on.
TEST_F(MakeModel, AsksForEarlierResultsByWhatTheyDependOn) {
  recipe_.effort = Effort::kBalanced;
  std::vector<std::uint64_t> keys;
  options_.resume = [&](std::uint64_t key) {
    keys.push_back(key);
    return nullptr;
  };
  static_cast<void>(made());
  static_cast<void>(made());
  recipe_.types.weight_bits = 5;
  static_cast<void>(made());
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_NE(keys[0], keys[2]);
}

}  // namespace
}  // namespace qtool
