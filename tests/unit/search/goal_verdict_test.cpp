// The judgement of a search on the images that it did not choose by.
#include "search/goal_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "report/search.h"

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::Not;

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    part_.best.images = 20;
    part_.best.sqnr_db = 25.0;
    part_.best.sqnr_interval_db = {24.0, 26.0};
    BoxMatch& boxes = part_.best.boxes.emplace();
    boxes.fp32 = 100;
    boxes.int8 = 97;
    boxes.kept = 95;
    boxes.kept_interval = {0.91, 0.98};
    boxes.added_interval = {0.01, 0.06};
  }
  GoalVerdict verdict(std::vector<SearchGoal> goals) {
    judge(goals, part_);
    return part_.verdict;
  }
  SearchedPart part_;
};

TEST_F(JudgeTest, GoesByTheIntervals) {
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 23.5}}), GoalVerdict::kReached);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 26.5}}), GoalVerdict::kMissed);
  EXPECT_EQ(part_.deciding_images, 0);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 24.5}}), GoalVerdict::kUndecided);
  EXPECT_EQ(part_.deciding_images, 80);  // the interval must be half as wide
  EXPECT_EQ(verdict({{SearchGoal::Kind::kBoxes, 90.0, 8.0}}), GoalVerdict::kReached);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kBoxes, 90.0, 0.5}}), GoalVerdict::kMissed);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kAgreement, 90.0}}), GoalVerdict::kReached);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kAgreement, 93.0}}), GoalVerdict::kUndecided);
}

TEST_F(JudgeTest, NeedsEveryGoal) {
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 23.5}, {SearchGoal::Kind::kBoxes, 93.0, 8.0}}),
            GoalVerdict::kUndecided);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 24.5}, {SearchGoal::Kind::kBoxes, 99.0, 8.0}}),
            GoalVerdict::kMissed);
}

TEST_F(JudgeTest, DecidesNothingWithoutAnInterval) {
  part_.best.sqnr_interval_db.reset();
  EXPECT_EQ(verdict({{SearchGoal::Kind::kSqnr, 23.5}}), GoalVerdict::kUndecided);
  EXPECT_EQ(part_.deciding_images, 0);
  EXPECT_TRUE(part_.lacks_interval);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kBoxes, 90.0, 8.0}}), GoalVerdict::kReached);
  EXPECT_FALSE(part_.lacks_interval);
}

TEST_F(JudgeTest, GoesByTheIntervalOfPixels) {
  part_.best.boxes.reset();
  part_.best.agreement = 0.97;
  part_.best.agreement_interval = {0.96, 0.98};
  EXPECT_EQ(verdict({{SearchGoal::Kind::kAgreement, 95.0}}), GoalVerdict::kReached);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kAgreement, 98.5}}), GoalVerdict::kMissed);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kAgreement, 96.5}}), GoalVerdict::kUndecided);
  EXPECT_EQ(part_.deciding_images, 80);
  EXPECT_FALSE(part_.lacks_interval);
}

class HeldTextTest : public JudgeTest {
 protected:
  /// What is printed of the search, with `part_` as the part held back.
  std::string text(SearchGoal goal) {
    result_.goals = {goal};
    judge(result_.goals, part_);
    result_.held_back = 20;
    result_.held_out = part_;
    return text_of(result_);
  }
  SearchResult result_;
};

// More images do not help where no interval is known.
TEST_F(HeldTextTest, SaysWhyNothingIsDecided) {
  part_.best.boxes->fp32 = part_.best.boxes->int8 = part_.best.boxes->kept = 0;
  part_.best.boxes->kept_interval.reset();
  part_.best.boxes->added_interval.reset();
  EXPECT_THAT(text({SearchGoal::Kind::kBoxes, 90.0}), HasSubstr(": FP32 finds no box in them, so"));
  part_.best.boxes.reset();
  part_.best.agreement = 0.97;  // of samples with states
  const std::string held = text({SearchGoal::Kind::kAgreement, 95.0});
  EXPECT_THAT(held, HasSubstr(": no interval is known for this figure, so"));
  EXPECT_THAT(held, Not(HasSubstr("too few to say")));
  EXPECT_THAT(json_of(result_, std::nullopt), HasSubstr("\"lacks_interval\": true"));
}

// They are held back from the choice, but may have made the model that the search began with.
TEST_F(HeldTextTest, SaysWhatElseTheImagesDid) {
  result_.contents_compared = true;
  EXPECT_THAT(text({SearchGoal::Kind::kSqnr, 20.0}), HasSubstr("On 20 images held back: "));
  result_.held_calibrated = 7;
  result_.learned = true;
  EXPECT_THAT(text({SearchGoal::Kind::kSqnr, 20.0}),
              HasSubstr("On 20 images held back (7 of them also set the ranges; the model also "
                        "learned from them): "));
  const std::string json = json_of(result_, std::nullopt);
  EXPECT_THAT(json, HasSubstr("\"held_calibrated\": 7"));
  EXPECT_THAT(json, HasSubstr("\"learned\": true"));
}

TEST_F(HeldTextTest, SaysTooOnlyWhereTheGoalIsReached) {
  EXPECT_THAT(text({SearchGoal::Kind::kSqnr, 20.0}), HasSubstr(": others reach the goal\n"));
  result_.reached = true;
  EXPECT_THAT(text({SearchGoal::Kind::kSqnr, 20.0}), HasSubstr(": others reach the goal, too\n"));
}

TEST_F(HeldTextTest, SaysThatImagesWereNotJudged) {
  result_.held_back = 5;
  result_.end = SearchEnd::kBudget;
  const std::string text = text_of(result_);
  EXPECT_THAT(text, HasSubstr("The 5 images held back were not judged: the budget was used up\n"));
  EXPECT_THAT(text, HasSubstr("was not looked up: the budget was used up\n"));
  EXPECT_THAT(json_of(result_, std::nullopt), HasSubstr("\"held_copies\": null"));
}

TEST_F(JudgeTest, KnowsTheChangeOfTop1) {
  part_.best.labelled = 100;
  part_.best.fp32_top1 = 80;
  part_.best.top1 = 79;
  part_.best.top1_change_interval = {-0.03, 0.01};
  EXPECT_EQ(verdict({{SearchGoal::Kind::kTop1Drop, 4.0}}), GoalVerdict::kReached);
  EXPECT_EQ(verdict({{SearchGoal::Kind::kTop1Drop, 2.0}}), GoalVerdict::kUndecided);
}

}  // namespace
}  // namespace qtool
