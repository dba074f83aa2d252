// The choice among the models that a search has run.
#include "search/tried_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/search.h"

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::Not;

class TriedModelsTest : public testing::Test {
 protected:
  TriedModelsTest() {
    SearchGoal goal{SearchGoal::Kind::kAgreement, 90.0};
    goal.confidence = 0.5;
    options_.goals = {goal};
  }
  /// Adds a model with that many tensors in 16 bits.
  void add(std::size_t wide, double cost, double decibels, double agreement) {
    Tried tried{{}, std::vector<std::string>(wide, "t"), cost, {}};
    tried.trial.noise = 1.0 / (1.0 + decibels);
    tried.trial.score.sqnr_db = {decibels};
    tried.trial.score.images = 100;
    tried.trial.score.agreement = agreement;
    tried.trial.score.integer_share = 1.0;
    models_.add(std::move(tried));
  }
  SearchOptions options_;
  TriedModels models_{options_};
};

TEST_F(TriedModelsTest, TakeTheMostDecibelsNearTheCheapestAndKnowTheMostOfAll) {
  add(0, 0.0, 10.0, 0.5);
  add(1, 0.10, 24.3, 0.95);
  add(2, 0.10 + 0.9 * kNearCost, 25.4, 0.94);
  add(3, 0.10 + 2.0 * kNearCost, 30.0, 0.99);
  EXPECT_EQ(models_.best_index(), 1U);
  EXPECT_EQ(models_.chosen_index(), 2U);
  EXPECT_EQ(models_.most_decibels_index(), 3U);
}

// A goal in decibels is reached or not; more of them are worth nothing.
TEST_F(TriedModelsTest, TakeTheCheapestForAGoalInDecibels) {
  options_.goals = {{SearchGoal::Kind::kSqnr, 20.0}};
  add(0, 0.0, 10.0, 0.5);
  add(1, 0.10, 24.3, 0.95);
  add(2, 0.11, 25.4, 0.94);
  EXPECT_EQ(models_.chosen_index(), 1U);
  EXPECT_EQ(models_.most_decibels_index(), 1U);
}

TEST_F(TriedModelsTest, KnowWhichOnesAreBeyondALimit) {
  options_.max_latency_cost = 0.1;
  options_.least_integer_share = 0.5;
  add(0, 0.0, 10.0, 0.5);
  add(1, 0.1, 24.0, 0.95);
  add(2, 0.2, 25.0, 0.95);
  EXPECT_FALSE(models_.point(1).beyond_limit);  // it was not timed
  models_.set_slower(1, {.median = 0.05}, 1.0);
  models_.set_slower(2, {.median = 0.5}, 1.0);
  EXPECT_FALSE(models_.point(0).beyond_limit);
  EXPECT_FALSE(models_.point(1).beyond_limit);
  EXPECT_TRUE(models_.point(2).beyond_limit);
  options_.least_integer_share = 1.1;
  EXPECT_TRUE(models_.point(0).beyond_limit);
}

// The choice keeps near the cheapest model. What more decibels would cost is printed.
TEST(MostDecibels, ArePrintedWithTheirCost) {
  SearchResult result;
  result.goals = {{SearchGoal::Kind::kBoxes, 95.0}};
  result.best.sqnr_db = 24.3;
  EXPECT_THAT(text_of(result), Not(HasSubstr("More decibels")));
  EXPECT_THAT(json_of(result, std::nullopt), HasSubstr("\"most_decibels\": null"));
  SearchPoint& most = result.most_decibels.emplace();
  most.sqnr_db = 25.398;
  most.exclude = {"a", "b"};
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("More decibels at a higher cost reach the goal, too: 25.40 dB"));
  EXPECT_THAT(text, HasSubstr("2 nodes in FP32, slower by an unknown time"));
  EXPECT_THAT(text, HasSubstr("with --min-sqnr 25.39 asks"));
}

}  // namespace
}  // namespace qtool
