#include "compare/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using Floats = std::vector<float>;
constexpr float kNanFloat = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfiniteFloat = std::numeric_limits<float>::infinity();

TEST(SqnrDb, IsTwentyDecibelsForATenthOfTheAmplitude) {
  EXPECT_NEAR(sqnr_db(Floats{10, -10}, Floats{9, -9}), 20.0, 1e-12);
  EXPECT_NEAR(sqnr_db(Floats{1, 0}, Floats{0, 1}), 10.0 * std::log10(0.5), 1e-12);
}

TEST(SqnrDb, StaysFiniteForDegenerateSignals) {
  EXPECT_EQ(sqnr_db(Floats{}, Floats{}), kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{0, 0}, Floats{0, 0}), kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{1, 2}, Floats{1, 2}), kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{0, 0}, Floats{1, 0}), -kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{1, 2}, Floats{1, kNanFloat}), -kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{1, 2}, Floats{1, kInfiniteFloat}), -kSqnrLimitDb);
  EXPECT_EQ(sqnr_db(Floats{kInfiniteFloat, 2}, Floats{1, 2}), -kSqnrLimitDb);
}

TEST(SqnrDb, RefusesSignalsOfDifferentLength) {
  EXPECT_THROW(sqnr_db(Floats{1}, Floats{1, 2}), Error);
}

TEST(SqnrSums, LeaveEqualInfinitiesOut) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> reference{1.0F, -kInfinity, 2.0F};
  const std::vector<float> approximation{1.0F, -kInfinity, 1.0F};
  const SqnrSums sums = sqnr_sums(reference, approximation);
  EXPECT_EQ(sums.signal, 5.0);
  EXPECT_EQ(sums.noise, 1.0);
}

TEST(HasAnswer, NeedsFiniteNumbersAndNoNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(has_answer(std::vector<float>{1.0F, 2.0F}));
  EXPECT_TRUE(has_answer(std::vector<float>{-kInfinity, 0.0F}));  // log of 0 and of 1
  EXPECT_TRUE(has_answer({}));
  EXPECT_FALSE(has_answer(std::vector<float>{1.0F, kNanFloat}));
  EXPECT_FALSE(has_answer(std::vector<float>{1.0F, kInfinity}));
  EXPECT_FALSE(has_answer(std::vector<float>{-kInfinity, -kInfinity}));
}

TEST(Cosine, KnowsParallelOppositeAndOrthogonalVectors) {
  EXPECT_NEAR(cosine(Floats{1, 2, 3}, Floats{2, 4, 6}), 1.0, 1e-12);
  EXPECT_NEAR(cosine(Floats{1, 2}, Floats{-1, -2}), -1.0, 1e-12);
  EXPECT_EQ(cosine(Floats{1, 0}, Floats{0, 1}), 0.0);
}

TEST(Cosine, HasDefinedAnswersForZeroAndNonFiniteVectors) {
  EXPECT_EQ(cosine(Floats{0, 0}, Floats{0, 0}), 1.0);
  EXPECT_EQ(cosine(Floats{0, 0}, Floats{1, 0}), 0.0);
  EXPECT_EQ(cosine(Floats{kNanFloat, 0}, Floats{1, 0}), 0.0);
  EXPECT_EQ(cosine(Floats{kInfiniteFloat, 0}, Floats{1, 0}), 0.0);
  EXPECT_NEAR(cosine(Floats{1e-30F, 0}, Floats{1e-30F, 0}), 1.0, 1e-12);
}

TEST(MaxAbsError, FindsTheLargestDifference) {
  EXPECT_EQ(max_abs_error(Floats{1, 5, -3}, Floats{1, 4, 1}), 4.0);
  EXPECT_EQ(max_abs_error(Floats{kInfiniteFloat}, Floats{kInfiniteFloat}), 0.0);
  EXPECT_TRUE(std::isinf(max_abs_error(Floats{1, 2}, Floats{kNanFloat, 2})));
}

TEST(TopK, PutsTheLowerIndexFirstAmongEqualScores) {
  EXPECT_THAT(top_k(Floats{1, 3, 2, 3, 3}, 4), testing::ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(top_k(Floats{0.0F, -0.0F}, 2), testing::ElementsAre(0, 1));
}

TEST(TopK, PutsNotANumberLast) {
  EXPECT_THAT(top_k(Floats{kNanFloat, -kInfiniteFloat, kNanFloat, 1}, 4),
              testing::ElementsAre(3, 1, 0, 2));
}

TEST(TopK, ReturnsEverythingWhenThereIsLessThanAsked) {
  EXPECT_THAT(top_k(Floats{1, 2}, 5), testing::ElementsAre(1, 0));
  EXPECT_THAT(top_k(Floats{}, 5), testing::IsEmpty());
  EXPECT_THROW(static_cast<void>(top_k(Floats{1}, -1)), Error);
}

TEST(Softmax, SurvivesLargeLogits) {
  const std::vector<double> p = softmax(Floats{1000, 1000, -1000});
  EXPECT_NEAR(p[0], 0.5, 1e-12);
  EXPECT_NEAR(p[2], 0.0, 1e-12);
}

TEST(AreProbabilities, TellsSoftmaxOutputFromLogits) {
  EXPECT_TRUE(are_probabilities(Floats{0.25F, 0.75F}));
  EXPECT_FALSE(are_probabilities(Floats{0.25F, 0.25F}));
  EXPECT_FALSE(are_probabilities(Floats{2.0F, -1.0F}));
  EXPECT_FALSE(are_probabilities(Floats{kNanFloat, 1.0F}));
}

TEST(Median, AveragesTheMiddleTwoOfAnEvenCount) {
  EXPECT_EQ(median({3, 1, 2}), 2.0);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({}), 0.0);
  EXPECT_EQ(qtool::mean_of(std::vector<double>{1, 2, 6}), 3.0);
  EXPECT_EQ(qtool::mean_of({}), 0.0);
}

TEST(IsUnsteady, ComparesTheMedianWithTheFastestRun) {
  EXPECT_FALSE(is_unsteady(0.0011, 0.001));
  EXPECT_TRUE(is_unsteady(0.0016, 0.001));
}

}  // namespace
}  // namespace qtool
