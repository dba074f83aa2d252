#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "quant/exact_sum.h"

namespace qtool {
namespace {

TEST(ExactSum, GivesEverySingleFloatBack) {
  constexpr float kLowest = std::numeric_limits<float>::denorm_min();
  for (const float value :
       {0.0F, 1.0F, -1.0F, 0.1F, -3.14159F, kLowest, -kLowest, std::numeric_limits<float>::max(),
        std::numeric_limits<float>::lowest()}) {
    ExactSum sum;
    sum.add(value);
    EXPECT_EQ(sum.value(), static_cast<double>(value));
    ExactSquareSum squares;
    squares.add(static_cast<double>(value) * value);
    EXPECT_EQ(squares.value(), static_cast<double>(value) * value);
  }
}

TEST(ExactSum, LosesNothingWhenLargeTermsCancel) {
  ExactSum sum;
  sum.add(0x1p-149);
  sum.add(3e38);
  sum.add(-1e20);
  sum.add(1e20);
  sum.add(-3e38);
  EXPECT_EQ(sum.value(), 0x1p-149);
  sum.add(-0x1p-149);
  EXPECT_EQ(sum, ExactSum());
}

TEST(ExactSum, DoesNotDependOnOrderOrGrouping) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  std::vector<double> terms(2000);
  for (double& term : terms) term = std::ldexp(normal(random), exponent(random));
  ExactSum forward;
  for (const double term : terms) forward.add(term);
  std::shuffle(terms.begin(), terms.end(), random);
  ExactSum first;
  ExactSum second;
  for (std::size_t i = 0; i < terms.size(); ++i) (i % 3 == 0 ? first : second).add(terms[i]);
  first.merge(second);
  EXPECT_EQ(first, forward);
  EXPECT_EQ(first.value(), forward.value());
}

TEST(ExactSum, RoundsTheResultOnceHalfToEven) {
  ExactSum sum;
  sum.add(0x1p53);
  sum.add(1.0);  // halfway between two doubles: takes the even one
  EXPECT_EQ(sum.value(), 0x1p53);
  sum.add(0x1p-149);  // now above halfway
  EXPECT_EQ(sum.value(), 0x1p53 + 2.0);
  ExactSum negative;
  negative.add(-0x1p53);
  negative.add(-3.0);  // halfway, and the even neighbour is further out
  EXPECT_EQ(negative.value(), -0x1p53 - 4.0);
}

TEST(ExactSum, RoundsTermsBelowItsUnitHalfToEven) {
  const auto rounded = [](double term) {
    ExactSum sum;
    sum.add(term);
    return sum.value();
  };
  EXPECT_EQ(rounded(0x1p-150), 0.0);
  EXPECT_EQ(rounded(0x1.8p-149), 0x1p-148);
  EXPECT_EQ(rounded(-0x1.8p-149), -0x1p-148);
  EXPECT_EQ(rounded(0x1p-400), 0.0);
}

TEST(ExactSum, MatchesLongDoubleOnOrdinaryData) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0.3F, 2.0F);
  ExactSum sum;
  long double reference = 0.0L;
  for (int i = 0; i < 100000; ++i) {
    const float value = normal(random);
    sum.add(value);
    reference += static_cast<long double>(value);
  }
  EXPECT_EQ(sum.value(), static_cast<double>(reference));  // 64 bits hold these 24-bit terms
}

TEST(ExactSum, GivesEveryTermOfWholeUnitsBackAndLeavesNothingOfIt) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> mantissa(0.5, 1.0);
  ExactSum sum;
  sum.add(-0.7);
  for (int exponent = -96; exponent <= 192; ++exponent) {  // 2^-149 is the last bit at -96
    for (const double sign : {1.0, -1.0}) {
      const double term = sign * std::ldexp(mantissa(random), exponent);
      ExactSum alone;
      alone.add(term);
      ASSERT_EQ(alone.value(), term);
      const ExactSum before = sum;
      for (const double part : {term, -2.0 * term, term}) sum.add(part);
      ASSERT_EQ(sum, before) << term;
    }
  }
}

TEST(ExactSum, RoundsTermsToUnitsHalfToEven) {
  const std::pair<double, double> cases[] = {{0.5, 0.0},  {1.5, 2.0},        {2.5, 2.0},
                                             {0.75, 1.0}, {0x1.8p-800, 0.0}, {-0.5, 0.0},
                                             {-1.5, -2.0}};
  for (const auto& [units, rounded] : cases) {
    ExactSum sum;
    sum.add(std::ldexp(units, -149));
    EXPECT_EQ(sum.value(), std::ldexp(rounded, -149)) << units;
  }
  for (const double nothing : {0.0, -0.0, 5e-324, -5e-324}) {
    ExactSum sum;
    sum.add(nothing);
    EXPECT_EQ(sum, ExactSum()) << nothing;
  }
}

TEST(ExactSum, SurvivesStorage) {
  ExactSum sum;
  sum.add(-1234.5678);
  EXPECT_EQ(ExactSum::from_limbs(sum.limbs()), sum);
}

TEST(ExactSum, RefusesTermsWithoutAValue) {
  ExactSum sum;
  EXPECT_THROW(sum.add(std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(sum.add(std::numeric_limits<double>::infinity()), Error);
  EXPECT_THROW(sum.add(1e300), Error);
  EXPECT_THROW(sum.add(0x1p194), Error);
  EXPECT_EQ(sum, ExactSum());
  sum.add(0x1.fffffffffffffp193);
  EXPECT_EQ(sum.value(), 0x1.fffffffffffffp193);
  ExactSquareSum squares;
  EXPECT_THROW(squares.add(0x1p301), Error);
  squares.add(0x1.fffffffffffffp300);
  EXPECT_EQ(squares.value(), 0x1.fffffffffffffp300);
}

}  // namespace
}  // namespace qtool
