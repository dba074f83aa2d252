#include "analyze/trial_score.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "compare/intervals.h"

namespace qtool {
namespace {

/// An image of one row of pixels with class 1, of which a model gives the first ones another class.
Answer row_of_pixels(std::int32_t wrong) {
  Answer answer;
  Mask& mask = answer.mask.emplace();
  mask.width = 10;
  mask.height = 1;
  mask.labels.assign(10, 1);
  for (std::int32_t i = 0; i < wrong; ++i) mask.labels[static_cast<std::size_t>(i)] = 0;
  return answer;
}

/// The first of ten boxes that lie far from each other.
Answer boxes_of_ten(std::int64_t first) {
  Answer answer;
  for (std::int64_t i = 0; i < first; ++i) {
    const float left = 20.0F * static_cast<float>(i);
    answer.boxes.push_back({left, 0.0F, left + 10.0F, 10.0F, 0, 0.9F});
  }
  return answer;
}

/// The answers of FP32 and of one model for an image.
TriedAnswers tried(const AnswerOptions& options, const Answer& fp32, const Answer& int8) {
  TriedAnswers answers;
  answers.usable = answers.fp32 = true;
  answers.sums = {SqnrSums{1.0, 0.1}};
  answers.answered = {true};
  answers.class_of = {-1};
  AnswerScorer& scorer = answers.agreement.emplace_back(options);
  answers.counts.push_back(scorer.add(fp32, int8));
  return answers;
}

TEST(TrialScoreSums, CountsTheBoxesOfAnImageTogether) {
  AnswerOptions options;
  options.boxes.emplace();
  TrialScoreSums sums(options, 40);
  for (int image = 0; image < 20; ++image) {  // in half of the images all boxes are lost
    sums.add(tried(options, boxes_of_ten(10), boxes_of_ten(image % 2 == 0 ? 10 : 0)), 0, 1, -1);
  }
  const KeptAnswers kept = kept_answers(sums.score(1));
  ASSERT_TRUE(kept.boxes.has_value());
  EXPECT_EQ(kept.boxes->fp32, 200);
  EXPECT_EQ(kept.boxes->kept, 100);
  EXPECT_LT(kept.boxes->kept_interval.value().low, wilson_interval(100, 200)->low);
  EXPECT_GT(kept.boxes->kept_interval->high, wilson_interval(100, 200)->high);
  EXPECT_LT(kept.boxes->added_interval.value().high, 0.05);
  EXPECT_FALSE(kept.classes.has_value());
}

TEST(TrialScoreSums, CountsThePixelsOfAnImageTogether) {
  AnswerOptions options;
  options.mask.emplace();
  TrialScoreSums sums(options, 40);
  for (std::int32_t image = 0; image < 40; ++image) {
    sums.add(tried(options, row_of_pixels(0), row_of_pixels(image % 4 == 0 ? 8 : 0)), 0, 1, -1);
  }
  const KeptAnswers kept = kept_answers(sums.score(1));
  ASSERT_TRUE(kept.pixels.has_value());
  EXPECT_DOUBLE_EQ(kept.pixels->value, 0.8);
  EXPECT_LT(kept.pixels->interval.value().low, wilson_interval(320, 400)->low);
  EXPECT_GT(kept.pixels->interval->high, wilson_interval(320, 400)->high);
  // Class 1 has 320 of 400 pixels; FP32 has no pixel of class 0.
  ASSERT_TRUE(kept.mean_iou.has_value());
  EXPECT_DOUBLE_EQ(kept.mean_iou->value, 0.4);
  EXPECT_LT(kept.mean_iou->interval.value().low, 0.39);
  EXPECT_GT(kept.mean_iou->interval->high, 0.41);
}

// A search compares thousands of models by their counts alone.
TEST(TrialScoreSums, HasNoIntervalsOfAnswersUnlessTheyAreAskedFor) {
  AnswerOptions options;
  options.mask.emplace();
  options.boxes.emplace();
  TrialScoreSums counts(options);
  TrialScoreSums all(options, 20);
  for (std::int32_t image = 0; image < 20; ++image) {
    Answer fp32 = row_of_pixels(0);
    Answer int8 = row_of_pixels(image % 4);
    fp32.boxes = boxes_of_ten(10).boxes;
    int8.boxes = boxes_of_ten(9).boxes;
    for (TrialScoreSums* sums : {&counts, &all}) sums->add(tried(options, fp32, int8), 0, 1, -1);
  }
  const TrialScore with = all.score(1);
  const TrialScore without = counts.score(1);
  EXPECT_TRUE(with.boxes.value().kept_interval && with.pixels_interval);
  EXPECT_TRUE(with.mean_iou.value().interval);
  EXPECT_FALSE(without.boxes.value().kept_interval || without.pixels_interval);
  EXPECT_FALSE(without.mean_iou.value().interval);
  EXPECT_EQ(without.boxes->kept, with.boxes->kept);
  EXPECT_EQ(without.equal_pixels, with.equal_pixels);
  EXPECT_EQ(without.mean_iou->value, with.mean_iou->value);
}

TEST(TrialScoreSums, OneImageHasNoInterval) {
  AnswerOptions options;
  options.mask.emplace();
  options.boxes.emplace();
  TrialScoreSums sums(options, 40);
  Answer both = row_of_pixels(1);
  both.boxes = boxes_of_ten(3).boxes;
  sums.add(tried(options, both, both), 0, 1, -1);
  const KeptAnswers kept = kept_answers(sums.score(1));
  EXPECT_EQ(kept.boxes.value().kept, 3);
  EXPECT_FALSE(kept.boxes->kept_interval.has_value());
  EXPECT_EQ(kept.pixels.value().value, 1.0);
  EXPECT_FALSE(kept.pixels->interval.has_value());
  EXPECT_FALSE(kept.mean_iou.value().interval.has_value());
}

TEST(TrialScoreSums, ClassesAreAnswersOfIndependentImages) {
  TrialScoreSums sums(AnswerOptions(), 50);
  for (std::int64_t image = 0; image < 50; ++image) {
    TriedAnswers answers;
    answers.usable = answers.fp32 = true;
    answers.fp32_class = 3;
    answers.sums = {SqnrSums{1.0, 0.1}};
    answers.answered = {true};
    answers.class_of = {image < 48 ? 3 : 4};
    sums.add(answers, 0, 1, 4);
  }
  const TrialScore score = sums.score(1);
  EXPECT_EQ(score.top1, 2);
  const KeptAnswers kept = kept_answers(score);
  ASSERT_TRUE(kept.classes.has_value());
  EXPECT_DOUBLE_EQ(kept.classes->value, 0.96);
  EXPECT_EQ(kept.classes->interval, wilson_interval(48, 50));
  EXPECT_FALSE(kept.boxes.has_value());
}

}  // namespace
}  // namespace qtool
