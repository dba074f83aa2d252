// The images that a search does not choose by.
#include "search/held_out_images.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "support/image_folder.h"

namespace qtool {
namespace {

Samples numbered(std::int64_t count) {
  ImageSet images;
  for (std::int64_t i = 0; i < count; ++i) images.entries.push_back({to_text(i), -1});
  return Samples(std::move(images));
}

TEST(HoldBack, TakesEveryThirdImage) {
  const SplitSamples split = hold_back(numbered(kLeastForHoldOut));
  ASSERT_TRUE(split.held.has_value());
  EXPECT_EQ(split.searched.size(), 10);
  EXPECT_EQ(split.held->size(), 5);
  EXPECT_EQ(split.held->path(0), "2");
  std::set<std::filesystem::path> all;
  for (std::int64_t i = 0; i < 10; ++i) all.insert(split.searched.path(i));
  for (std::int64_t i = 0; i < 5; ++i) all.insert(split.held->path(i));
  EXPECT_EQ(all.size(), 15U);
}

TEST(HoldBack, TakesNoneOfAFewImages) {
  const SplitSamples split = hold_back(numbered(kLeastForHoldOut - 1));
  EXPECT_FALSE(split.held.has_value());
  EXPECT_EQ(split.searched.size(), kLeastForHoldOut - 1);
}

TEST(CopiesOfSearched, AreCountedByContent) {
  const ImageFolder folder(4, 14);
  folder.add("z.ppm", 3);  // the last one, which is held back, is a copy of 3.ppm
  const SplitSamples split = hold_back(folder.list());
  ASSERT_EQ(split.held->path(4).filename(), "z.ppm");
  EXPECT_EQ(copies_of_searched(split, 1, {}), 1);
  EXPECT_EQ(copies_of_searched(hold_back(numbered(3)), 1, {}), 0);
}

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
