#include "qtool/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analyze/suggest_trials.h"
#include "base/file.h"
#include "base/partial_results.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/overrides.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/samples/hold_back.h"
#include "report/search.h"
#include "support/image_folder.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SearchTest : public testing::Test {
 protected:
  SearchTest() : fp32_(prepare(four_layers())) {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.repeat = 5;
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    calibrate_options.method = "minmax";
    base_.table = calibrate(fp32_, folder_.list(), calibrate_options).table;
  }

  void plant(const std::string& tensor, float factor) {
    for (ActivationEntry& one : base_.table.activations) {
      if (one.tensor == tensor) one.affine.scale *= factor;
    }
  }
  [[nodiscard]] SearchResult find(SearchGoal goal) { return find_all({goal}); }
  [[nodiscard]] SearchResult find_all(std::vector<SearchGoal> goals) {
    options_.goals = std::move(goals);
    return search(fp32_, base_, folder_.list(), options_);
  }
  [[nodiscard]] SearchResult find_sqnr(double db) { return find({SearchGoal::Kind::kSqnr, db}); }

  /// The results of eval for the model that quantize makes with these overrides.
  struct Judged {
    double sqnr_db = 0.0;
    double integer_share = 0.0;
  };
  [[nodiscard]] Judged judged(const std::vector<std::string>& exclude,
                              const std::vector<std::string>& wide = {}) const {
    StaticInputs changed = base_;
    changed.options.exclude = exclude;
    changed.options.wide = wide;
    Quantized made = quantize(fp32_.graph(), changed.table, changed.options);
    Judged judged;
    judged.integer_share = measure_coverage(made.graph, {}, made.report).integer_share();
    const Executor int8(prepare(std::move(made.graph)));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    judged.sqnr_db = evaluate(fp32_, &int8, folder_.list(), eval).outputs.at(0).pooled_sqnr_db;
    return judged;
  }

  const ImageFolder folder_{kLayerSide, 5};
  Executor fp32_;
  SearchOptions options_;
  StaticInputs base_;
};

// The only problem is one tensor with a scale that is far too large. Its producer or its consumer
// must be excluded.
TEST_F(SearchTest, FindsAPlantedBadTensor) {
  const double healthy = judged({}).sqnr_db;
  plant("b_relu_out", 40.0F);
  const SearchResult result = find_sqnr(healthy - 1.0);
  EXPECT_TRUE(result.reached);
  EXPECT_EQ(result.end, SearchEnd::kComplete);
  EXPECT_LT(result.int8.sqnr_db, healthy - 10.0);
  EXPECT_GE(result.best.sqnr_db, healthy - 1.0);
  EXPECT_THAT(result.best.exclude, Contains(testing::AnyOf("b", "c")));
  EXPECT_THAT(result.best.exclude, Not(Contains("a")));
  EXPECT_THAT(result.best.exclude, Not(Contains("d")));
}

// If the target supports it, such a tensor keeps 16 bits, and all multiplications stay on integers.
TEST_F(SearchTest, WidensAPlantedBadTensor) {
  base_.options.target = "qtool";
  const double healthy = judged({}).sqnr_db;
  plant("b_relu_out", 40.0F);
  options_.least_integer_share = 0.9;  // no layer may be in FP32
  const SearchResult result = find_sqnr(healthy - 1.0);
  EXPECT_TRUE(result.reached);
  EXPECT_THAT(result.best.exclude, IsEmpty());
  EXPECT_THAT(result.best.wide, testing::ElementsAre("b_relu_out"));
  EXPECT_EQ(result.best.integer_share, 1.0);
  EXPECT_DOUBLE_EQ(result.best.sqnr_db, judged({}, result.best.wide).sqnr_db);
  EXPECT_THAT(text_of(result), HasSubstr("0 nodes in FP32, 1 tensor in 16 bits"));
}

// If neither one wide tensor nor nodes in FP32 reach the goal, several wide tensors are tried. Each
// reported model has been run.
TEST_F(SearchTest, MixesWideTensorsWithNodesInFp32) {
  base_.options.target = "qtool";
  plant("b_relu_out", 40.0F);
  options_.least_integer_share = 0.9;  // no layer may be in FP32
  const SearchResult result = find_sqnr(150.0);
  EXPECT_FALSE(result.reached);
  EXPECT_GE(result.best.wide.size(), 2U);
  EXPECT_GT(result.best.sqnr_db, judged({}, {"b_relu_out"}).sqnr_db);
  for (const SearchPoint& point : result.frontier) {
    EXPECT_DOUBLE_EQ(point.sqnr_db, judged(point.exclude, point.wide).sqnr_db);
  }
}

// Every reported point has been run; forecasts are never reported.
TEST_F(SearchTest, ReportsWhatEvalSaysOfTheModels) {
  plant("b_relu_out", 20.0F);
  plant("c_relu_out", 10.0F);
  const SearchResult result = find_sqnr(30.0);
  ASSERT_GE(result.frontier.size(), 2U);
  for (const SearchPoint& point : result.frontier) {
    const Judged judged_point = judged(point.exclude);
    EXPECT_DOUBLE_EQ(point.sqnr_db, judged_point.sqnr_db);
    EXPECT_DOUBLE_EQ(point.integer_share, judged_point.integer_share);
    EXPECT_EQ(point.images, 5);
  }
  for (std::size_t i = 1; i < result.frontier.size(); ++i) {
    EXPECT_GE(result.frontier[i].cost, result.frontier[i - 1].cost);
  }
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("Goal: 30 dB or more; "));
  EXPECT_THAT(text, HasSubstr("on 5 images"));
}

TEST_F(SearchTest, LeavesAModelAloneThatReachesTheGoal) {
  const SearchResult result = find_sqnr(judged({}).sqnr_db - 0.5);
  EXPECT_TRUE(result.reached);
  EXPECT_THAT(result.best.exclude, IsEmpty());
  EXPECT_EQ(result.best.integer_share, 1.0);
}

TEST_F(SearchTest, SaysThatAGoalIsNotReachedAndReturnsTheNearest) {
  plant("b_relu_out", 20.0F);
  options_.least_integer_share = 0.4;  // with `b` and `c` in FP32, 0.47 is left
  const SearchResult result = find_sqnr(150.0);
  EXPECT_FALSE(result.reached);
  EXPECT_EQ(result.end, SearchEnd::kComplete);
  EXPECT_GT(result.best.sqnr_db, result.int8.sqnr_db + 3.0);
  EXPECT_GE(result.best.integer_share, 0.4);
  EXPECT_THAT(text_of(result), HasSubstr("nearest: "));
}

TEST_F(SearchTest, DoesNotDependOnThreads) {
  plant("b_relu_out", 20.0F);
  plant("d_relu_out", 6.0F);
  options_.threads = 1;
  const SearchResult one = find_sqnr(35.0);
  options_.threads = 3;
  const SearchResult three = find_sqnr(35.0);
  EXPECT_EQ(one.tried, three.tried);
  ASSERT_EQ(one.frontier.size(), three.frontier.size());
  for (std::size_t i = 0; i < one.frontier.size(); ++i) {
    EXPECT_EQ(one.frontier[i].exclude, three.frontier[i].exclude);
    EXPECT_EQ(one.frontier[i].sqnr_db, three.frontier[i].sqnr_db);
  }
  EXPECT_EQ(one.best.exclude, three.best.exclude);
}

// The share of pixels with FP32's class must be the same as from evaluate().
TEST_F(SearchTest, ReachesAnAgreementOfMasks) {
  plant("b_relu_out", 40.0F);
  options_.answers.mask = MaskRule{};
  const SearchResult result = find({SearchGoal::Kind::kAgreement, 97.0});
  EXPECT_TRUE(result.reached);
  ASSERT_TRUE(result.int8.agreement.has_value());
  EXPECT_LT(*result.int8.agreement, 0.97);
  EXPECT_GE(result.best.agreement.value_or(0.0), 0.97);
  for (const SearchPoint* point : {&result.int8, &result.best}) {
    StaticOptions quantize_options = base_.options;
    quantize_options.exclude = point->exclude;
    const Executor int8(prepare(quantize(fp32_.graph(), base_.table, quantize_options).graph));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    eval.answers = options_.answers;
    const EvalResult judged_result = evaluate(fp32_, &int8, folder_.list(), eval);
    ASSERT_TRUE(judged_result.answers.mask.has_value());
    EXPECT_DOUBLE_EQ(*point->agreement,
                     static_cast<double>(judged_result.answers.mask->equal) /
                         static_cast<double>(judged_result.answers.mask->pixels));
  }
}

TEST_F(SearchTest, JudgesHeldMasksByTheIntervalOfTheirPixels) {
  for (int i = 5; i < 18; ++i) folder_.add(to_text(i, ".ppm"), i);
  options_.answers.mask = MaskRule{};
  const SearchResult result = find({SearchGoal::Kind::kAgreement, 50.0});
  ASSERT_TRUE(result.held_out.has_value());
  EXPECT_TRUE(result.held_out->best.agreement_interval.has_value());
  EXPECT_EQ(result.held_out->verdict, GoalVerdict::kReached);
  EXPECT_FALSE(result.held_out->lacks_interval);
}

TEST_F(SearchTest, ReachesGoalsOfTwoKindsTogether) {
  plant("b_relu_out", 40.0F);
  options_.answers.mask = MaskRule{};
  const SearchGoal pixels{SearchGoal::Kind::kAgreement, 97.0};
  const SearchResult one = find(pixels);
  const double more = one.best.sqnr_db + 3.0;
  const SearchResult both = find_all({pixels, {SearchGoal::Kind::kSqnr, more}});
  EXPECT_TRUE(both.reached);
  EXPECT_GE(both.best.agreement.value_or(0.0), 0.97);
  EXPECT_GE(both.best.sqnr_db, more);
  EXPECT_THAT(text_of(both), HasSubstr("Goal: 97 % agreement or more and "));
  EXPECT_EQ(both.goals.size(), 2U);
}

// The held images play no part in the choice, and the figures on them are those of evaluate().
TEST_F(SearchTest, HoldsAThirdOfTheImagesBack) {
  for (int i = 5; i < 30; ++i) folder_.add(to_text(i, ".ppm"), i);
  plant("b_relu_out", 20.0F);
  const Samples all(folder_.list());
  const SearchResult result = find_sqnr(30.0);
  EXPECT_TRUE(result.reached);
  EXPECT_EQ(result.int8.images, 20);
  ASSERT_TRUE(result.held_out && result.searched);
  EXPECT_EQ(result.searched->best.images, 20);
  EXPECT_DOUBLE_EQ(result.searched->best.sqnr_db, result.best.sqnr_db);
  EXPECT_DOUBLE_EQ(result.searched->int8.sqnr_db, result.int8.sqnr_db);
  StaticInputs changed = base_;
  changed.options.exclude = result.best.exclude;
  const Executor best(prepare(quantize(fp32_.graph(), changed).graph));
  EvalOptions eval;
  eval.preprocess = options_.preprocess;
  const EvalResult others = evaluate(fp32_, &best, all.part(2, 3), eval);
  EXPECT_EQ(result.held_out->best.images, 10);
  EXPECT_DOUBLE_EQ(result.held_out->best.sqnr_db, others.outputs.at(0).pooled_sqnr_db);
  EXPECT_EQ(result.held_out->best.sqnr_interval_db, others.outputs.at(0).pooled_interval);
  EXPECT_GT(result.held_out->gain_db, 1.0);
  ASSERT_TRUE(result.held_out->gain_interval_db.has_value());
  EXPECT_LE(result.held_out->gain_interval_db->low, result.held_out->gain_db);
  EXPECT_GE(result.held_out->gain_interval_db->high, result.held_out->gain_db);
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("On the 20 images of the search: "));
  EXPECT_THAT(text, HasSubstr("On 10 images held back"));
  const std::string as_json = json_of(result, std::nullopt);
  EXPECT_THAT(as_json, HasSubstr("\"held_out\": {"));
  EXPECT_THAT(as_json, HasSubstr("\"gain_db_interval\": ["));
}

TEST_F(SearchTest, SaysThatTooFewImagesAreNotHeldBack) {
  const SearchResult result = find_sqnr(10.0);
  EXPECT_FALSE(result.held_out.has_value());
  EXPECT_THAT(text_of(result), HasSubstr("No images were held back"));
  EXPECT_THAT(json_of(result, std::nullopt), HasSubstr("\"held_out\": null"));
}

TEST_F(SearchTest, TriesTheLoudestSourcesAndTimesThem) {
  plant("b_relu_out", 40.0F);
  const SearchResult result = find_sqnr(60.0);
  ASSERT_FALSE(result.loudest.empty());
  EXPECT_GT(result.loudest[0].sqnr_db, result.int8.sqnr_db + 3.0);
  EXPECT_THAT(result.loudest[0].exclude, Contains(testing::AnyOf("b", "c")));
  EXPECT_TRUE(result.loudest[0].slower_seconds.has_value());
  EXPECT_FALSE(result.loudest[0].beyond_limit);
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("The nodes of the loudest sources in FP32"));
  EXPECT_THAT(text, HasSubstr("slower than INT8's "));
}

// They are tried whatever the limits, so a row may be no model to take.
TEST_F(SearchTest, MarksTheLoudestThatBreakALimit) {
  plant("b_relu_out", 40.0F);
  options_.least_integer_share = 1.0;  // any layer in FP32 breaks it
  const SearchResult result = find_sqnr(60.0);
  ASSERT_FALSE(result.loudest.empty());
  EXPECT_LT(result.loudest[0].integer_share, 1.0);
  EXPECT_TRUE(result.loudest[0].beyond_limit);
  EXPECT_FALSE(result.best.beyond_limit);
  EXPECT_THAT(text_of(result), HasSubstr("beyond a limit"));
  EXPECT_THAT(json_of(result, std::nullopt), HasSubstr("\"beyond_limit\": true"));
}

// Also where the INT8 model itself reaches the goal, its time is measured.
TEST_F(SearchTest, AlwaysSaysHowMuchSlower) {
  const SearchResult result = find_sqnr(judged({}).sqnr_db - 0.5);
  EXPECT_GT(result.int8_seconds, 0.0);
  EXPECT_THAT(text_of(result), HasSubstr(" ms by 0 ms: it is the same model"));
}

// Making a model asks for each layer whether to stop. Here each of these questions takes long, by a
// clock that the load of the machine hardly moves.
TEST_F(SearchTest, KeepsItsBudgetWhereModelsAreSlowToMake) {
  for (int i = 5; i < static_cast<int>(kLeastForHoldOut); ++i) folder_.add(to_text(i, ".ppm"), i);
  plant("b_relu_out", 40.0F);
  options_.threads = 1;
  std::atomic<bool> runs = false;  // progress is asked between runs, which stay fast
  options_.progress = [&](std::int64_t, std::int64_t) {
    runs = true;
    return ProgressAnswer::kContinue;
  };
  options_.stop = [&] {
    if (!runs.exchange(false)) Stopwatch::pass(std::chrono::milliseconds(100));
    return false;
  };
  const SearchResult first = find_sqnr(-100.0);
  ASSERT_EQ(first.tried, 1);
  options_.budget_seconds = 3.0 * first.seconds;
  const SearchResult result = find_sqnr(150.0);
  EXPECT_EQ(result.end, SearchEnd::kBudget);
  EXPECT_LE(result.seconds, 1.1 * options_.budget_seconds);
  EXPECT_TRUE(result.held_out.has_value());
}

// A model that is slow to make is also stopped between its layers.
TEST_F(SearchTest, AsksForEachLayerWhetherToStop) {
  const auto asked_with = [&](const std::vector<std::string>& exclude) {
    int asked = 0;
    StaticInputs inputs = base_;
    inputs.options.exclude = exclude;
    inputs.options.stop = [&] { return ++asked < 0; };
    static_cast<void>(quantize(fp32_.graph(), inputs));
    return asked;
  };
  EXPECT_GE(asked_with({}), asked_with({"a", "b", "c"}) + 3);
}

// A rewritten network has other ranges than the FP32 model; the reported figures must still be
// right.
TEST_F(SearchTest, SearchesARewrittenModel) {
  base_.options.rewrites = {"equalize"};
  plant("b_relu_out", 20.0F);
  const double start = judged({}).sqnr_db;
  const SearchResult result = find_sqnr(start + 3.0);
  EXPECT_DOUBLE_EQ(result.int8.sqnr_db, start);
  EXPECT_TRUE(result.reached);
  EXPECT_DOUBLE_EQ(result.best.sqnr_db, judged(result.best.exclude).sqnr_db);
}

TEST_F(SearchTest, KeepsTheBestWhenItIsStopped) {
  plant("b_relu_out", 20.0F);
  int asked = 0;
  // Stops after the INT8 model has been run on its five images.
  options_.progress = [&](std::int64_t, std::int64_t) {
    return ++asked > 8 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
  const SearchResult result = find_sqnr(60.0);
  EXPECT_EQ(result.end, SearchEnd::kInterrupted);
  EXPECT_FALSE(result.reached);
  EXPECT_GE(result.tried, 1);
  EXPECT_GE(result.best.sqnr_db, result.int8.sqnr_db);
  options_.progress = [](std::int64_t, std::int64_t) { return ProgressAnswer::kStop; };
  EXPECT_THROW(static_cast<void>(find_sqnr(60.0)), Error);
}

// A search that is stopped and resumed finds the same as a search that is not stopped, and runs no
// model twice.
TEST_F(SearchTest, GoesOnWhereItWasStopped) {
  plant("b_relu_out", 20.0F);
  plant("d_relu_out", 6.0F);
  int all = 0;
  options_.progress = [&](std::int64_t, std::int64_t) {
    ++all;
    return ProgressAnswer::kContinue;
  };
  const SearchResult whole = find_sqnr(35.0);
  const std::filesystem::path file = folder_.path() / "search.partial";
  {
    PartialResults partial(file, 7);
    options_.partial = &partial;
    int asked = 0;
    options_.progress = [&](std::int64_t, std::int64_t) {
      return ++asked > all / 2 ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
    };
    const SearchResult part = find_sqnr(35.0);
    EXPECT_EQ(part.end, SearchEnd::kInterrupted);
    EXPECT_LT(part.tried, whole.tried);
  }
  PartialResults partial(file, 7);
  EXPECT_GE(partial.size(), 2);  // the sources, and models
  options_.partial = &partial;
  options_.progress = {};
  const SearchResult rest = find_sqnr(35.0);
  EXPECT_EQ(rest.tried, whole.tried);
  EXPECT_EQ(rest.best.exclude, whole.best.exclude);
  EXPECT_EQ(rest.best.sqnr_db, whole.best.sqnr_db);
  EXPECT_EQ(rest.frontier.size(), whole.frontier.size());
  // If all results are known, only FP32 and INT8 are run once, for the forecast of the cost.
  std::int64_t images = 0;
  options_.max_latency_cost.reset();
  options_.progress = [&](std::int64_t, std::int64_t) {
    ++images;
    return ProgressAnswer::kContinue;
  };
  EXPECT_EQ(find_sqnr(35.0).tried, whole.tried);
  EXPECT_LT(images, all / 2);  // these are the timed runs
}

// The contents of a file are not trusted. If they are broken, they are measured again.
TEST_F(SearchTest, MeasuresWhatAFileKeepsOnlyBroken) {
  const SearchResult whole = find_sqnr(30.0);
  PartialResults partial(folder_.path() / "broken.partial", 7);
  options_.partial = &partial;
  for (const char* text :
       {"", "{", "[]", "{\"images\": 1}", "{\"images\": \"x\", \"sources\": [[1]]}"}) {
    partial.keep("sources", text);
    EXPECT_EQ(find_sqnr(30.0).best.exclude, whole.best.exclude);
  }
}

// The images that were left out are part of the result, also if a file keeps all measurements.
TEST_F(SearchTest, NamesTheImagesThatWereLeftOut) {
  write_file(folder_.path() / "2broken.ppm", "P6\n");
  folder_.add("scan.tif", 1);
  PartialResults partial(folder_.path() / "left_out.partial", 7);
  options_.partial = &partial;
  plant("b_relu_out", 40.0F);
  for (int run = 0; run < 2; ++run) {
    const SearchResult result = find_sqnr(20.0);
    EXPECT_EQ(result.int8.images, 5);
    ASSERT_EQ(result.bad.size(), 1U);
    EXPECT_EQ(result.bad[0].path.filename(), "2broken.ppm");
    EXPECT_THAT(result.bad[0].reason, HasSubstr("2broken.ppm"));
    EXPECT_EQ(result.passed_over.count, 1);
    EXPECT_THAT(text_of(result), HasSubstr("left out 1 image:\n"));
  }
}

TEST_F(SearchTest, SaysWhatItWillCost) {
  SearchCost cost;
  options_.announce = [&](const SearchCost& said) { cost = said; };
  const SearchResult result = find_sqnr(20.0);
  EXPECT_EQ(cost.images, 5);
  EXPECT_GT(cost.trial_seconds, 0.0);
  EXPECT_GT(cost.probe_seconds, 0.0);
  // The sources are x, three tensors between the layers, and four layers. Nothing rounds the
  // output.
  EXPECT_EQ(cost.sources, 8);
  EXPECT_GT(result.seconds, 0.0);
  EXPECT_THAT(text_of(cost, 2), HasSubstr("8 sources alone"));
}

TEST_F(SearchTest, RefusesWhatMakesNoSense) {
  const auto code_of = [&](SearchGoal goal) {
    try {
      static_cast<void>(find(goal));
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kIo;
  };
  // Four channels of 8 x 8 are not scores per class.
  EXPECT_EQ(code_of({SearchGoal::Kind::kAgreement, 99.0}), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of({SearchGoal::Kind::kAgreement, 101.0}), ErrorCode::kUsage);
  options_.answers.mask = MaskRule{};
  EXPECT_EQ(code_of({SearchGoal::Kind::kTop1Drop, 0.5}), ErrorCode::kUsage);
  options_.least_integer_share = 1.5;
  EXPECT_EQ(code_of({SearchGoal::Kind::kSqnr, 20.0}), ErrorCode::kUsage);
  options_.least_integer_share = 0.0;
  options_.budget_seconds = 1e-6;
  EXPECT_EQ(code_of({SearchGoal::Kind::kSqnr, 20.0}), ErrorCode::kUsage);
}

// The times are measured, so the test checks only facts that hold on any machine.
TEST_F(SearchTest, KeepsWithinALimitOfTime) {
  plant("b_relu_out", 20.0F);
  options_.max_latency_cost = 1e6;
  EXPECT_TRUE(find_sqnr(25.0).reached);
  options_.max_latency_cost = 0.0;
  const SearchResult result = find_sqnr(200.0);
  EXPECT_FALSE(result.reached);
  if (!result.best.exclude.empty()) {
    ASSERT_TRUE(result.best.slower_seconds.has_value());
    EXPECT_LE(result.best.slower_seconds->median, 0.0);
  }
}

}  // namespace
}  // namespace qtool
