#include "analyze/suggest_recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyze/suggest_choice.h"
#include "compare/race_plans.h"
#include "qtool/analyze/analyze.h"
#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "report/durations.h"
#include "report/suggestions.h"
#include "report/suggestions_json.h"
#include "support/image_folder.h"
#include "unit/four_layers.h"
#include "unit/uneven_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Four layers with weights of 4 bits, whose rounding makes nearly all of the noise.
class RecipesTest : public testing::Test {
 protected:
  RecipesTest() : fp32_(prepare(four_layers())) {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.repeat = 7;
    options_.sources = 0;  // no change of single tensors
    options_.learning = {
        learn_.list(), options_.preprocess, {"--images", "photos", "--part", "1/2"}};
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    base_.table = calibrate(fp32_, learn_.list(), calibrate_options).table;
    base_.options.types.weight_bits = 4;
  }

  [[nodiscard]] SuggestResult suggestions(const StaticInputs& base) const {
    const Executor int8(prepare(quantize(fp32_.graph(), base).graph));
    const AnalyzeResult analysis = analyze(fp32_, int8, judge_.list(), options_);
    return suggest(fp32_, base, analysis, judge_.list(), options_);
  }
  /// What a command makes of the table with the options of a change.
  [[nodiscard]] MadeModel made_by(const Change& change) const {
    Recipe recipe;
    if (!change.effort.empty()) recipe.effort = find_effort(change.effort).effort;
    if (!change.target.empty()) recipe.target = change.target;
    recipe.rewrites = change.rewrites;
    recipe.types = base_.options.types;
    if (!change.weight_method.empty()) recipe.types.weight_method = change.weight_method;
    if (change.corrects_biases) recipe.bias_correction = BiasCorrection::kSequential;
    recipe.overrides.exclude = change.exclude;
    recipe.overrides.ranges = change.ranges;
    recipe.overrides.wide = change.wide;
    MakeOptions make;
    make.preprocess = options_.preprocess;
    const Samples samples = learn_.list();
    return make_model(fp32_, recipe, inputs_of_table(recipe, base_.table, make), &samples, make);
  }
  [[nodiscard]] double decibels(const Graph& int8) const {
    const Executor quantized(prepare(int8));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    return evaluate(fp32_, &quantized, judge_.list(), eval).outputs.at(0).pooled_sqnr_db;
  }

  const ImageFolder learn_{kLayerSide, 12};
  const ImageFolder judge_{kLayerSide, 9};
  Executor fp32_;
  SuggestOptions options_;
  StaticInputs base_;
};

// The cheapest improvement was never named: rounding by the images, with every product on integers.
TEST_F(RecipesTest, OffersAWholeRecipeFirst) {
  const SuggestResult result = suggestions(base_);
  ASSERT_FALSE(result.suggestions.empty());
  const Suggestion& first = result.suggestions.front();
  EXPECT_EQ(first.change.effort, "balanced");
  EXPECT_TRUE(first.change.exclude.empty());
  EXPECT_EQ(first.integer_share, result.integer_share);
  EXPECT_GT(first.making_seconds, 0.0);
  EXPECT_EQ(result.images, 9);
  EXPECT_EQ(result.learned_on, 12);
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("were tried on 9 images, and learned on 12 others"));
  EXPECT_THAT(text, HasSubstr("no more nodes in FP32; made in "));
  EXPECT_THAT(text, HasSubstr("--equalize table --weight-rounding gptq"));
  const auto json = json_of(result, {});
  EXPECT_EQ(json["list"][0]["cost_text"], cost_text(first, result.integer_share));
  EXPECT_THAT(text, HasSubstr(json["list"][0]["gain_text"].get<std::string>()));
}

TEST_F(RecipesTest, PromisesWhatTheCommandMakes) {
  options_.min_gain_db = 1e-9;  // suggests each change that gains more than a smaller one
  options_.most = 1000;
  for (const Suggestion& suggestion : suggestions(base_).suggestions) {
    EXPECT_NEAR(suggestion.sqnr_db, decibels(made_by(suggestion.change).int8.graph), 1e-6);
  }
}

// The models of `auto` are equalized and rounded on images. They could not be improved at all.
TEST_F(RecipesTest, ImprovesAModelThatWasRoundedOnImages) {
  options_.sources = 4;
  const MadeModel made = made_by({.effort = "balanced"});
  StaticInputs base = base_;
  base.options = made.inputs.options;
  base.learned = made.inputs.learned;
  const SuggestResult result = suggestions(base);
  EXPECT_NEAR(result.sqnr_db, decibels(made.int8.graph), 1e-6);
  ASSERT_FALSE(result.suggestions.empty());
  for (const Suggestion& suggestion : result.suggestions) {
    EXPECT_EQ(suggestion.change.learned_on, options_.learning->words);
    Change whole = suggestion.change;
    whole.effort = "balanced";  // the command has the options of the base, too
    EXPECT_NEAR(suggestion.sqnr_db, decibels(made_by(whole).int8.graph), 1e-6);
  }
}

TEST_F(RecipesTest, ImprovesAModelWhoseBiasesWereCorrectedOnImages) {
  options_.sources = 4;
  options_.min_gain_db = -1000.0;  // suggests every change
  options_.most = 1000;
  const MadeModel made = made_by({.effort = "balanced", .corrects_biases = true});
  StaticInputs base = base_;
  base.options = made.inputs.options;
  base.learned = made.inputs.learned;
  const SuggestResult result = suggestions(base);
  EXPECT_NEAR(result.sqnr_db, decibels(made.int8.graph), 1e-6);
  ASSERT_FALSE(result.suggestions.empty());
  bool corrects = false;
  for (const Suggestion& suggestion : result.suggestions) {
    corrects = corrects || suggestion.change.corrects_biases;
    Change whole = suggestion.change;
    whole.effort = "balanced";  // the command has the options of the base, too
    EXPECT_NEAR(suggestion.sqnr_db, decibels(made_by(whole).int8.graph), 1e-6);
  }
  EXPECT_TRUE(corrects);
}

TEST_F(RecipesTest, RecoversTheOptionsOfAModelFromItsTable) {
  base_.options.types.weight_bits.reset();
  for (const std::string effort : {"fast", "balanced"}) {
    const MadeModel made = made_by({.effort = effort});
    const StaticInputs told = recovered_options(fp32_.whole_graph(), made.int8.graph, base_.table);
    EXPECT_EQ(fingerprint(quantize(fp32_.whole_graph(), told).graph), fingerprint(made.int8.graph));
    EXPECT_TRUE(told.options.exclude.empty());
  }
  // The judge of `balanced` keeps a correction of the biases on images where it gains.
  for (const std::string effort : {"balanced", "best"}) {
    const MadeModel made = made_by({.effort = effort, .corrects_biases = true});
    const StaticInputs told = recovered_options(fp32_.whole_graph(), made.int8.graph, base_.table);
    EXPECT_EQ(fingerprint(quantize(fp32_.whole_graph(), told).graph), fingerprint(made.int8.graph));
    EXPECT_EQ(told.options.bias_correction, BiasCorrection::kSequential);
  }
  StaticInputs without = base_;
  without.options.exclude = {"b"};
  const Graph excluded = quantize(fp32_.graph(), without).graph;
  EXPECT_THAT(recovered_options(fp32_.graph(), excluded, base_.table).options.exclude,
              ElementsAre("b"));
}

TEST_F(RecipesTest, RecoversTheRewritesOfAModel) {
  Net net;
  const std::string x = net.input("x", {1, 3, kLayerSide, kLayerSide});
  const std::string relu = net.op("Relu", "relu", {uneven_conv(net, "a", x, 4, 3, 1, 1)});
  net.output(uneven_conv(net, "b", relu, 4, 4, 1, 2));
  const Executor fp32(prepare(std::move(net.graph)));
  CalibrateOptions calibrated;
  calibrated.collect.preprocess = options_.preprocess;
  const Samples samples = learn_.list();
  const CalibrationTable table = calibrate(fp32, samples, calibrated).table;
  Recipe recipe;
  recipe.effort = find_effort("balanced").effort;
  MakeOptions make;
  make.preprocess = options_.preprocess;
  const MadeModel made =
      make_model(fp32, recipe, inputs_of_table(recipe, table, make), &samples, make);
  const StaticInputs told = recovered_options(fp32.whole_graph(), made.int8.graph, table);
  EXPECT_THAT(rewrites_of(told), ElementsAre("equalize"));
  EXPECT_EQ(fingerprint(quantize(fp32.whole_graph(), told).graph), fingerprint(made.int8.graph));
}

// The rewrites that a model does not have were taken for a choice against those of an effort, so
// that the effort was measured without them.
TEST_F(RecipesTest, PromisesWhatTheCommandMakesOfARecoveredModel) {
  base_.options.types.weight_bits.reset();
  const Graph plain = made_by({}).int8.graph;
  const StaticInputs base = recovered_options(fp32_.whole_graph(), plain, base_.table);
  EXPECT_FALSE(base.options.rewrites.has_value());
  options_.min_gain_db = -1000.0;  // suggests every change
  options_.most = 1000;
  int efforts_found = 0;
  for (const Suggestion& suggestion : suggestions(base).suggestions) {
    if (suggestion.change.effort.empty()) continue;
    ++efforts_found;
    EXPECT_NEAR(suggestion.sqnr_db, decibels(made_by(suggestion.change).int8.graph), 1e-6);
  }
  EXPECT_GT(efforts_found, 0);
}

TEST_F(RecipesTest, RefusesATableThatDoesNotSayHowTheModelWasMade) {
  StaticInputs other = base_;
  other.table.activations.front().affine.scale *= 2.0F;
  const Graph made = quantize(fp32_.graph(), other).graph;
  try {
    static_cast<void>(recovered_options(fp32_.graph(), made, base_.table));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("give another model"));
  }
}

TEST_F(RecipesTest, DoesNotOfferWhatTheModelHas) {
  const auto efforts_of = [&](const StaticInputs& base) {
    std::vector<std::string> found;
    for (const Change& change : recipe_changes(base, {"--images", "photos"})) {
      if (change.target.empty() && !change.effort.empty()) found.push_back(change.effort);
    }
    return found;
  };
  EXPECT_THAT(efforts_of(base_), ElementsAre("balanced"));
  StaticInputs balanced = base_;
  balanced.options.rewrites = {"equalize"};
  balanced.options.rounding = "gptq";
  EXPECT_THAT(efforts_of(balanced), ElementsAre());
  for (const Change& change : recipe_changes(base_, {})) EXPECT_TRUE(change.effort.empty());
  base_.options.target = "qtool";
  for (const Change& change : recipe_changes(base_, {})) EXPECT_TRUE(change.target.empty());
}

TEST(WithWide, TakesTheFirstAndTheFirstFew) {
  const std::vector<Change> some = with_wide({.target = "qtool"}, {"a", "b", "c", "d", "e"});
  ASSERT_EQ(some.size(), 2U);
  EXPECT_THAT(some[0].wide, ElementsAre("a"));
  EXPECT_THAT(some[1].wide, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(with_wide({}, {"a"}).size(), 1U);
  EXPECT_TRUE(with_wide({}, {}).empty());
}

Suggestion suggestion_of(double gain_db, Interval interval, std::vector<std::string> exclude) {
  Suggestion one;
  one.change.exclude = std::move(exclude);
  one.gain_db = gain_db;
  one.gain_interval_db = interval;
  return one;
}

// What leaves every product on integers comes first unless nodes in FP32 gain more for certain.
TEST(PutInOrder, BringsIntegersFirstWhereTheyGainAsMuch) {
  std::vector<Suggestion> all{
      suggestion_of(1.0, {0.9, 1.1}, {}), suggestion_of(2.5, {2.0, 3.0}, {"a"}),
      suggestion_of(2.2, {1.8, 2.6}, {}), suggestion_of(4.0, {3.5, 4.5}, {"a", "b"})};
  put_in_order(all);
  std::vector<double> gains;
  for (const Suggestion& one : all) gains.push_back(one.gain_db);
  EXPECT_THAT(gains, ElementsAre(4.0, 2.2, 2.5, 1.0));
}

TEST(CostOf, SaysWhenTheMeasurementWasDisturbed) {
  const std::vector<double> base(31, 0.010);
  std::vector<double> changed(31, 0.011);
  const RunCost quiet = cost_of(changed, base);
  EXPECT_FALSE(quiet.disturbed);
  EXPECT_NEAR(quiet.ratio.median, 1.1, 1e-12);
  EXPECT_NEAR(quiet.seconds.median, 0.001, 1e-12);
  EXPECT_DOUBLE_EQ(quiet.base_seconds, 0.010);
  EXPECT_EQ(slower_by(quiet), "+10.0 % (+10.0 to +10.0 %)");
  // Half of the runs meet other work: the median says +185 %, and nothing of the model.
  for (std::size_t i = 0; i < 17; ++i) changed[i] = 0.0285;
  const RunCost disturbed = cost_of(changed, base);
  EXPECT_TRUE(disturbed.disturbed);
  EXPECT_THAT(slower_by(disturbed), HasSubstr("disturbed"));
  // Both are disturbed in turn, so that no median is far from the fastest run.
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 31; ++i) {
    a.push_back(i % 2 == 0 ? 0.010 : 0.013);
    b.push_back(i % 2 == 0 ? 0.013 : 0.010);
  }
  EXPECT_TRUE(cost_of(a, b).disturbed);
  EXPECT_TRUE(cost_of({}, {}).disturbed);
}

// An option that may be given once stood twice in the line when the model had it already.
TEST(ChangeLines, ReplaceTheOptionsOfTheModel) {
  MakingCommands commands;
  commands.quantize = {"qtool",  "quantize",  "m.onnx", "--table",
                       "t.json", "--target",  "cpu",    "--weight-rounding",
                       "gptq",   "--exclude", "a",      "--equalize=off"};
  Change change;
  change.exclude = {"b"};
  change.target = "qtool";
  change.effort = "balanced";
  change.rewrites = {"equalize"};
  change.corrects_biases = true;
  change.learned_on = {"--images", "photos"};
  EXPECT_EQ(line_of(options_of(change), commands).text,
            "qtool quantize m.onnx --table t.json --exclude a --exclude b --equalize table "
            "--target qtool --weight-rounding gptq --bias-correction sequential --images photos");
}

}  // namespace
}  // namespace qtool
