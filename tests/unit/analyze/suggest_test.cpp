#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyze/suggest_choice.h"
#include "base/file.h"
#include "compare/metrics.h"
#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/profile.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "report/suggestions.h"
#include "support/image_folder.h"
#include "unit/changed_inputs.h"
#include "unit/four_layers.h"
#include "unit/onnx_models.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;

class SuggestTest : public testing::Test {
 protected:
  SuggestTest() : fp32_(prepare(four_layers())) {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.repeat = 7;
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    calibrate_options.method = "minmax";
    CalibrationResult calibrated = calibrate(fp32_, folder_.list(), calibrate_options);
    base_.table = std::move(calibrated.table);
    collection_ = std::move(calibrated.collection);
  }

  [[nodiscard]] Graph int8(const StaticInputs& base) const {
    return prepare(quantize(fp32_.graph(), base).graph);
  }
  [[nodiscard]] SuggestResult suggestions(const StaticInputs& base) const {
    const Executor quantized(int8(base));
    const AnalyzeResult analysis = analyze(fp32_, quantized, folder_.list(), options_);
    return suggest(fp32_, base, analysis, folder_.list(), options_);
  }
  [[nodiscard]] double decibels(const StaticInputs& base) const {
    const Executor quantized(int8(base));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    return evaluate(fp32_, &quantized, folder_.list(), eval).outputs.at(0).pooled_sqnr_db;
  }
  ActivationEntry& entry(StaticInputs& base, const std::string& tensor) const {
    for (ActivationEntry& one : base.table.activations) {
      if (one.tensor == tensor) return one;
    }
    throw std::runtime_error(tensor);
  }

  const ImageFolder folder_{kLayerSide, 5};
  Executor fp32_;
  SuggestOptions options_;
  StaticInputs base_;
  Collection collection_;
};

// The options that a user pastes must give the SQNR that was promised.
TEST_F(SuggestTest, SaysWhatQuantizingWithTheOptionsGives) {
  entry(base_, "b_relu_out").affine.scale *= 20.0F;
  const SuggestResult result = suggestions(base_);
  EXPECT_NEAR(result.sqnr_db, decibels(base_), 1e-6);
  EXPECT_THAT(text_of(result), testing::HasSubstr("the changes were chosen on these images"));
  for (const Suggestion& one : result.suggestions) {  // the network has one output
    ASSERT_TRUE(one.worst_interval_db.has_value());
    EXPECT_LE(one.worst_interval_db->low, one.sqnr_db);
    EXPECT_GE(one.worst_interval_db->high, one.sqnr_db);
  }
  ASSERT_FALSE(result.suggestions.empty());
  for (const Suggestion& suggestion : result.suggestions) {
    EXPECT_GE(suggestion.gain_db, 0.5);
    EXPECT_NEAR(suggestion.sqnr_db, decibels(changed_inputs(base_, suggestion.change)), 1e-6);
    EXPECT_NEAR(suggestion.gain_db, suggestion.sqnr_db - result.sqnr_db, 1e-9);
    EXPECT_LE(suggestion.cost.seconds.low, suggestion.cost.seconds.median);
    EXPECT_LE(suggestion.cost.seconds.median, suggestion.cost.seconds.high);
    ASSERT_TRUE(suggestion.gain_interval_db);
    EXPECT_LE(suggestion.gain_interval_db->low, suggestion.gain_db);
    EXPECT_GE(suggestion.gain_interval_db->high, suggestion.gain_db);
  }
  EXPECT_EQ(result.images, 5);
  EXPECT_EQ(result.learned_on, 0);
}

// The bias correction on images is computed once for each change that has it, and is the correction
// that qtool quantize computes.
TEST_F(SuggestTest, TriesACorrectionOfTheBiasesOnImages) {
  // Many values are clipped, which shifts means. The channel means of the table do not tell by how
  // much.
  entry(base_, "b_relu_out").affine.scale *= 0.5F;
  options_.sources = 0;  // no other change that may gain more is tried
  options_.learning = {folder_.list(), options_.preprocess, {"--images", "some photos"}};
  const SuggestResult result = suggestions(base_);
  const auto found = std::find_if(result.suggestions.begin(), result.suggestions.end(),
                                  [](const Suggestion& s) { return s.change.corrects_biases; });
  ASSERT_NE(found, result.suggestions.end());
  EXPECT_THAT(line_of(options_of(found->change), {}).text,
              testing::HasSubstr("--bias-correction sequential --images 'some photos'"));
  const Change& change = found->change;
  Recipe recipe;
  if (!change.target.empty()) recipe.target = change.target;
  if (!change.effort.empty()) recipe.effort = find_effort(change.effort).effort;
  recipe.rewrites = change.rewrites;
  if (!change.weight_method.empty()) recipe.types.weight_method = change.weight_method;
  recipe.bias_correction = BiasCorrection::kSequential;
  recipe.overrides.ranges = change.ranges;
  MakeOptions make;
  make.preprocess = options_.preprocess;
  const Samples samples = folder_.list();
  const MadeModel made =
      make_model(fp32_, recipe, inputs_of_table(recipe, base_.table, make), &samples, make);
  EXPECT_NEAR(found->sqnr_db, decibels(made.inputs), 1e-6);
}

// The best of the changes that cost no time is suggested, even if it gains little more than a
// smaller change.
TEST_F(SuggestTest, SaysTheBestOfWhatCostsNoTime) {
  for (ActivationEntry& one : base_.table.activations) one.affine.scale *= 0.7F;
  options_.learning = {folder_.list(), options_.preprocess, {"--images", "photos"}};
  options_.most = 1000;
  const auto best_free = [](const SuggestResult& result) {
    double best = 0.0;
    for (const Suggestion& suggestion : result.suggestions) {
      const bool is_free = suggestion.change.exclude.empty() && suggestion.change.wide.empty() &&
                           suggestion.change.target.empty();
      if (is_free) best = std::max(best, suggestion.gain_db);
    }
    return best;
  };
  options_.min_gain_db = 1e-9;  // suggests each change that gains more than a smaller one
  const double most = best_free(suggestions(base_));
  options_.min_gain_db = 0.5;
  ASSERT_GT(most, 0.5);
  EXPECT_DOUBLE_EQ(best_free(suggestions(base_)), most);
}

// For the worst source the result has the gain of every change, even of changes that are not worth
// a suggestion.
TEST_F(SuggestTest, TriesEveryChangeOfTheWorstSource) {
  CalibrateOptions calibrate_options;
  calibrate_options.collect.preprocess = options_.preprocess;
  calibrate_options.target = base_.options.target = "qtool";  // this target has 16 bits
  CalibrationResult calibrated = calibrate(fp32_, folder_.list(), calibrate_options);
  base_.table = std::move(calibrated.table);
  collection_ = std::move(calibrated.collection);
  entry(base_, "b_relu_out").affine.scale *= 20.0F;
  options_.statistics = &collection_;
  const SuggestResult result = suggestions(base_);
  std::vector<std::string> tried;
  for (const SourceTrial& trial : result.by_source) {
    if (trial.source != "b_relu_out") continue;
    tried.push_back(trial.what);
    EXPECT_EQ(trial.kind, SourceKind::kActivation);
    if (trial.what == "FP32" || trial.what == "16 bits" || trial.what == "range of the images") {
      EXPECT_GT(trial.gain_db, 10.0) << trial.what;
    }
  }
  EXPECT_THAT(tried, testing::IsSupersetOf({"FP32", "16 bits", "range of the images"}));
  EXPECT_LE(tried.size(), 7U);  // nearly equal ranges of several methods are tried once
  EXPECT_EQ(result.by_source.front().source, "b_relu_out");
  EXPECT_THAT(text_of(result), testing::StartsWith("what a change of one source alone brings"));
}

TEST_F(SuggestTest, NamesTheRangeThatTheImagesHave) {
  entry(base_, "b_relu_out").affine.scale *= 20.0F;
  const SuggestResult result = suggestions(base_);
  const auto given = std::find_if(
      result.suggestions.begin(), result.suggestions.end(),
      [](const Suggestion& s) { return s.change.ranges.size() == 1 && s.change.exclude.empty(); });
  ASSERT_NE(given, result.suggestions.end());
  const Overrides::GivenRange& range = given->change.ranges[0];
  EXPECT_EQ(range.tensor, "b_relu_out");
  EXPECT_EQ(range.range, entry(base_, "b_relu_out").range);  // minmax's range on these images
  EXPECT_GT(given->gain_db, 10.0);
}

// If another tool renamed the nodes, every layer would look excluded.
TEST_F(SuggestTest, RefusesAModelWithOtherNodeNames) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(save_onnx_bytes(int8(base_))));
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    node.set_name("other_" + node.name());
  }
  const Graph renamed = load_onnx_bytes(model.SerializeAsString(), "", "renamed");
  EXPECT_THROW(recovered_table_and_options(fp32_.graph(), prepare(renamed)), Error);
}

TEST_F(SuggestTest, SaysThatNothingBringsAnything) {
  options_.min_gain_db = 100.0;
  const SuggestResult result = suggestions(base_);
  EXPECT_GT(result.tried, 5);
  EXPECT_TRUE(result.suggestions.empty());
  EXPECT_THAT(text_of(result), testing::HasSubstr("none brings 100.0 dB"));
}

TEST_F(SuggestTest, NamesTheImagesThatWereLeftOut) {
  write_file(folder_.path() / "2broken.ppm", "P6\n");
  folder_.add("scan.tif", 1);
  const SuggestResult result = suggestions(base_);
  ASSERT_EQ(result.bad.size(), 1U);
  EXPECT_EQ(result.bad[0].path.filename(), "2broken.ppm");
  const AnalyzeResult analysis = analyze(fp32_, Executor(int8(base_)), folder_.list(), options_);
  EXPECT_EQ(analysis.bad, result.bad);
  EXPECT_EQ(analysis.passed_over.count, 1);
}

TEST_F(SuggestTest, TriesOtherMethodsWhereThereAreStatistics) {
  for (ActivationEntry& one : base_.table.activations) one.affine.scale *= 8.0F;
  options_.statistics = &collection_;
  const SuggestResult result = suggestions(base_);
  const bool any = std::any_of(result.suggestions.begin(), result.suggestions.end(),
                               [](const Suggestion& s) { return !s.change.method.empty(); });
  EXPECT_TRUE(any);
}

// A larger change that gains little more than a smaller one is left out.
TEST_F(SuggestTest, LeavesOutWhatASmallerChangeBringsToo) {
  for (ActivationEntry& one : base_.table.activations) one.affine.scale *= 20.0F;
  const SuggestResult result = suggestions(base_);
  ASSERT_GE(result.suggestions.size(), 2U);
  for (const Suggestion& larger : result.suggestions) {
    for (const Suggestion& smaller : result.suggestions) {
      if (larger.change.target != smaller.change.target) continue;
      if (size_of(larger.change) <= size_of(smaller.change)) continue;
      EXPECT_GE(larger.gain_db, smaller.gain_db + 0.5);
    }
  }
}

TEST_F(SuggestTest, DoesNotDependOnThreads) {
  entry(base_, "b_relu_out").affine.scale *= 20.0F;
  options_.threads = 1;
  const SuggestResult one = suggestions(base_);
  options_.threads = 3;
  const SuggestResult three = suggestions(base_);
  ASSERT_EQ(one.suggestions.size(), three.suggestions.size());
  for (std::size_t i = 0; i < one.suggestions.size(); ++i) {
    EXPECT_EQ(one.suggestions[i].change, three.suggestions[i].change);
    EXPECT_EQ(one.suggestions[i].noise, three.suggestions[i].noise);
  }
}

// The inputs read from a model make the same integers, scales and biases again.
TEST_F(SuggestTest, MakesTheSameModelAgainFromWhatItSays) {
  struct Case {
    std::string what;
    StaticInputs base;
  };
  std::vector<Case> cases(6, {"as it is", base_});
  cases[1].what = "a layer in FP32";
  cases[1].base.options.exclude = {"b"};
  cases[2].what = "one scale for all weights of a layer";
  cases[2].base.options.types.weight_granularity = Granularity::kPerTensor;
  cases[3].what = "signed activations";
  cases[3].base.options.types.activation_dtype = DType::kInt8;
  cases[4].what = "six bits";
  cases[4].base.options.types.activation_bits = 6;
  cases[5].what = "another target";
  cases[5].base.options.target = "qtool";
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Graph made = int8(one.base);
    const StaticInputs told = recovered_table_and_options(fp32_.graph(), made);
    EXPECT_EQ(told.options.target, one.base.options.target);
    EXPECT_NEAR(decibels(told), decibels(one.base), 1e-6);
    const Graph again = int8(told);
    for (const NodeId id : made.nodes()) {
      for (const ValueId input : made.node(id).inputs) {
        if (input == kNoValue || !made.is_constant(input)) continue;
        const std::string& name = made.value(input).name;
        const std::optional<ValueId> other = again.find_value(name);
        ASSERT_TRUE(other) << name;
        EXPECT_TRUE(identical(*made.value(input).constant, *again.value(*other).constant)) << name;
      }
    }
  }
}

TEST_F(SuggestTest, RefusesModelsThatDoNotSayTheirScales) {
  const auto refusal = [&](const Graph& graph) {
    try {
      static_cast<void>(recovered_table_and_options(fp32_.graph(), graph));
      return std::string("accepted");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refusal(prepare(quantize(fp32_.graph(), WeightOnlyOptions()).graph)),
              testing::HasSubstr("no activations with stored scales"));
  Graph rewritten = int8(base_);
  rewritten.info.metadata[std::string(kRewritesKey)] = "equalize";
  EXPECT_THAT(refusal(rewritten), testing::HasSubstr("equalize"));
}

TEST(ChangeOptions, AreWordsOfACommandLine) {
  Change change;
  change.exclude = {"conv1", "-odd"};
  change.ranges = {{"relu out", {-0.5F, 6.0F}}};
  EXPECT_THAT(options_of(change).words,
              ElementsAre("--exclude", "conv1", "--exclude=-odd", "--range", "relu out=-0.5,6"));
  EXPECT_EQ(options_of(change).command, "quantize");
  SuggestResult result;
  result.suggestions.push_back({.change = change});
  EXPECT_THAT(text_of(result),
              testing::HasSubstr("\n    options of qtool quantize: --exclude conv1 "
                                 "--exclude=-odd --range 'relu out=-0.5,6'\n"));
  Change method;
  method.method = "mse";
  EXPECT_EQ(options_of(method).command, "calibrate");
}

TEST(ChangeOptions, AreWholeCommandsWhereTheCommandIsKnown) {
  MakingCommands commands;
  commands.quantize = {"qtool", "quantize", "a model.onnx", "--table", "t.json"};
  Change change;
  change.exclude = {"conv1"};
  Change method;
  method.method = "mse";
  const ChangeLine line = line_of(options_of(change), commands);
  EXPECT_TRUE(line.complete);
  EXPECT_EQ(line.text, "qtool quantize 'a model.onnx' --table t.json --exclude conv1");
  EXPECT_FALSE(line_of(options_of(method), commands).complete);
  EXPECT_EQ(line_of(options_of(method), commands).text, "--method mse");
  commands.calibrate = {"qtool", "calibrate", "m.onnx", "--from", "t.json"};
  commands.quantize_again = {"qtool", "quantize", "m.onnx", "--table", "other.json"};
  EXPECT_EQ(line_of(options_of(method), commands).text,
            "qtool calibrate m.onnx --from t.json --method mse && "
            "qtool quantize m.onnx --table other.json");
  SuggestResult result;
  result.suggestions.push_back({.change = change});
  EXPECT_THAT(text_of(result, commands), testing::HasSubstr("\n    " + line.text + "\n"));
}

// The ranks are those of the binomial distribution with p = 1/2 in published tables.
TEST(MedianInterval, HasTheRanksOfTheTables) {
  std::vector<double> values;
  for (int i = 1; i <= 31; ++i) values.push_back(32 - i);
  EXPECT_EQ(median_interval(values).median, 16.0);
  EXPECT_EQ(median_interval(values).low, 10.0);
  EXPECT_EQ(median_interval(values).high, 22.0);
  EXPECT_EQ(median_interval({3.0, 1.0, 2.0}).low, 1.0);
  EXPECT_EQ(median_interval({3.0, 1.0, 2.0}).high, 3.0);
  EXPECT_EQ(median_interval({}).median, 0.0);
}

}  // namespace
}  // namespace qtool
