// Tests conclusions from counts on some images about other images.
#include "search/goal_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "report/search.h"
#include "search/tried_models.h"

namespace qtool {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

// Brown, Cai, DasGupta 2001: 95 % on both sides.
TEST(WilsonUpper, IsTheEndOfThePublishedInterval) {
  EXPECT_NEAR(wilson_upper(5, 10, 0.975), 0.7634, 1e-4);
  EXPECT_NEAR(wilson_upper(0, 10, 0.975), 0.2775, 1e-4);
  EXPECT_DOUBLE_EQ(wilson_upper(3, 10, 0.5), 0.3);
  EXPECT_DOUBLE_EQ(wilson_upper(12, 10, 0.9), 1.2);  // any number of boxes may be added
  EXPECT_EQ(wilson_upper(0, 0, 0.9), 1.0);
}

TEST(AllowedMistakes, AreFewerThanTheGoalsShare) {
  EXPECT_EQ(allowed_mistakes(152, 0.05, 0.5), 7);
  EXPECT_EQ(allowed_mistakes(152, 0.05, 0.9), 4);
  EXPECT_EQ(allowed_mistakes(710, 0.05, 0.9), 28);
  EXPECT_EQ(allowed_mistakes(60, 0.01, 0.9), 0);  // even 0 mistakes do not prove the goal
  EXPECT_EQ(allowed_mistakes(100, 0.42, 0.5), 42);
  EXPECT_EQ(allowed_mistakes(0, 0.05, 0.9), 0);
}

TEST(RisingFit, TakesTheMeanOfNeighboursThatFall) {
  EXPECT_THAT(rising_fit(std::vector<double>{0, 2, 1, 4, 3, 2}),
              ElementsAre(0, 1.5, 1.5, DoubleEq(3), DoubleEq(3), DoubleEq(3)));
  EXPECT_THAT(rising_fit(std::vector<double>{3, 2, 1}), ElementsAre(2, 2, 2));
  EXPECT_THAT(rising_fit({}), testing::IsEmpty());
}

class LuckyModel : public testing::Test {
 protected:
  LuckyModel() { options_.goals = {{SearchGoal::Kind::kBoxes, 95.0, 5.0}}; }
  /// Models of rising cost and falling noise. The second one has more noise than the next two, but
  /// has lost fewer boxes.
  [[nodiscard]] TriedModels models() const {
    TriedModels tried(options_);
    add(tried, 0.0, 0.05, 30);
    add(tried, 0.1, 0.02, 3);
    add(tried, 0.2, 0.015, 9);
    add(tried, 0.3, 0.012, 8);
    add(tried, 0.5, 0.005, 3);
    add(tried, 0.6, 0.004, 2);
    return tried;
  }
  static void add(TriedModels& tried, double cost, double noise, std::int64_t lost,
                  double decibels = 20.0) {
    Tried model;
    model.nodes = NodeSet(static_cast<std::size_t>(cost * 100.0 + 0.5), NodeId{1});
    model.cost = cost;
    model.trial.noise = noise;
    model.trial.score.sqnr_db = {decibels};
    model.trial.score.images = 60;
    model.trial.score.integer_share = 1.0;
    model.trial.score.boxes = BoxMatch{0.3, 0.7, 152, 152, 152 - lost};
    model.trial.score.boxes->int8 = 152 - lost;
    tried.add(std::move(model));
  }
  SearchOptions options_;
};

TEST_F(LuckyModel, IsNotTakenWhereOthersOfItsNoiseLoseMore) {
  const TriedModels tried = models();
  EXPECT_THAT(tried.at(1).fitted.at(0), DoubleEq(20.0 / 3.0));
  EXPECT_FALSE(tried.reaches_goal(tried.at(1)));
  EXPECT_EQ(tried.best_index(), 4U);
  const SearchPoint best = tried.point(4);
  EXPECT_NEAR(best.kept_at_least.value_or(0.0), 1.0 - wilson_upper(3, 152, 0.9), 1e-12);
  EXPECT_THAT(text_of(best, options_.goals),
              HasSubstr("98.03 % of 152 boxes kept and 0.00 % added"));
  EXPECT_FALSE(tried.surest().has_value());
}

TEST_F(LuckyModel, IsTakenWhereTheCountAloneDecides) {
  options_.goals[0].confidence = 0.5;
  EXPECT_EQ(models().best_index(), 1U);
}

TEST_F(LuckyModel, CostsLessThanWhatIsSure) {
  EXPECT_THAT(models().frontier(12), ElementsAre(1, 4, 5));  // a costlier model must be surer
  EXPECT_THAT(models().frontier(2), ElementsAre(1, 4));      // the best one stays
}

// 152 boxes are too few to show that 99 % are kept. Then only a model without any mistake reaches
// the goal.
TEST_F(LuckyModel, IsNoneWithoutAMistakeWhereTheImagesAreTooFew) {
  options_.goals = {{SearchGoal::Kind::kBoxes, 99.0, 1.0}};
  TriedModels tried = models();
  EXPECT_FALSE(tried.reaches_goal(tried.best()));
  add(tried, 0.9, 0.001, 0);
  EXPECT_TRUE(tried.reaches_goal(tried.at(6)));
  EXPECT_NEAR(tried.surest().value_or(0.0), 1.0 - wilson_upper(0, 152, 0.9), 1e-12);
}

// Of models that cost nearly the same, counts say less than decibels. A model that costs more is
// not taken for its decibels.
TEST_F(LuckyModel, IsNotTakenBeforeOneOfMoreDecibelsThatCostsTheSame) {
  TriedModels tried = models();
  add(tried, 0.53, 0.0049, 3, 21.0);
  add(tried, 0.54, 0.0048, 3, 23.0);
  add(tried, 0.58, 0.0047, 3, 40.0);
  EXPECT_EQ(tried.best_index(), 4U);
  EXPECT_EQ(tried.chosen_index(), 7U);
  EXPECT_THAT(tried.frontier(2), testing::Contains(7));
  options_.goals = {{SearchGoal::Kind::kSqnr, 15.0}};  // decibels are the goal: the cheapest
  TriedModels by_decibels(options_);
  add(by_decibels, 0.0, 0.05, 30, 10.0);
  add(by_decibels, 0.5, 0.005, 3, 20.0);
  add(by_decibels, 0.53, 0.0049, 3, 21.0);
  EXPECT_EQ(by_decibels.chosen_index(), 1U);
}

// Goals of different kinds must all be reached. The one that is missed most decides which model is
// nearest.
TEST_F(LuckyModel, MustReachEveryGoal) {
  options_.goals.push_back({SearchGoal::Kind::kSqnr, 22.0});
  TriedModels tried(options_);
  add(tried, 0.0, 0.05, 30, 12.0);
  add(tried, 0.3, 0.006, 3, 21.0);  // enough boxes, a decibel too few
  add(tried, 0.4, 0.04, 40, 30.0);
  EXPECT_FALSE(tried.reaches_goal(tried.best()));
  EXPECT_EQ(tried.best_index(), 1U);
  add(tried, 0.5, 0.001, 2, 22.5);
  EXPECT_EQ(tried.best_index(), 3U);
  EXPECT_TRUE(tried.reaches_goal(tried.best()));
  EXPECT_EQ(text_of(options_.goals),
            "95 % of the boxes kept or more and 5 % added or fewer and 22 dB or more");
}

TEST(EnoughNoise, IsKnownForDecibelsOnly) {
  EXPECT_DOUBLE_EQ(enough_noise({{SearchGoal::Kind::kSqnr, 14.0}, {SearchGoal::Kind::kSqnr, 4.0}}),
                   0.01);
  EXPECT_EQ(enough_noise({{SearchGoal::Kind::kSqnr, 14.0}, {SearchGoal::Kind::kAgreement, 99.0}}),
            0.0);
}

}  // namespace
}  // namespace qtool
