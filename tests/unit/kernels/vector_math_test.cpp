#include "kernels/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace qtool {
namespace {

// Calls `check` for finite floats of both signs, spread over all exponents.
template <typename Check>
void for_floats(float low, float high, const Check& check) {
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 20011U) {
    const auto x = std::bit_cast<float>(bits);
    if (x >= low && x <= high) check(x);
    if (-x >= low && -x <= high) check(-x);
  }
}

double ulps(float found, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(static_cast<double>(found) - exact) / std::ldexp(1.0, exponent - 24);
}

TEST(VectorExp, StaysWithinTwoUnitsInTheLastPlace) {
  for_floats(-87.0F, 88.7F, [](float x) {
    ASSERT_LE(ulps(vector_exp(x), std::exp(static_cast<double>(x))), 2.0) << x;
  });
}

TEST(VectorExp, OverflowsVanishesAndKeepsNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(vector_exp(0.0F), 1.0F);
  EXPECT_EQ(vector_exp(89.0F), kInfinity);
  EXPECT_EQ(vector_exp(kInfinity), kInfinity);
  EXPECT_EQ(vector_exp(-kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(vector_exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorTanh, StaysWithinFourUnitsInTheLastPlace) {
  for_floats(-30.0F, 30.0F, [](float x) {
    if (std::abs(x) < 1e-37F) return;  // the unit in the last place itself leaves the normal range
    ASSERT_LE(ulps(vector_tanh(x), std::tanh(static_cast<double>(x))), 4.0) << x;
  });
  EXPECT_EQ(vector_tanh(std::numeric_limits<float>::infinity()), 1.0F);
  EXPECT_EQ(vector_tanh(-std::numeric_limits<float>::infinity()), -1.0F);
}

TEST(VectorSigmoid, IsAccurateOnBothSides) {
  for_floats(-80.0F, 80.0F, [](float x) {
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
    ASSERT_LE(ulps(vector_sigmoid(x), exact), 4.0) << x;
  });
}

// There the exponent of e^-x leaves the range of floats, and the result that of normal floats.
TEST(VectorSigmoid, EndsAtZeroAndOne) {
  for_floats(80.0F, 110.0F, [](float x) {
    ASSERT_EQ(vector_sigmoid(x), 1.0F) << x;
    const double exact = 1.0 / (1.0 + std::exp(static_cast<double>(x)));
    ASSERT_NEAR(vector_sigmoid(-x), exact, 4e-7 * exact + 5e-39) << x;
    ASSERT_EQ(x > 88.5F ? vector_sigmoid(-x) : 0.0F, 0.0F) << x;
  });
  EXPECT_TRUE(std::isnan(vector_sigmoid(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorSoftplus, IsAccurateOnBothSides) {
  for_floats(-80.0F, 80.0F, [](float x) {
    const double exact = std::log1p(std::exp(-std::abs(static_cast<double>(x)))) +
                         std::max(static_cast<double>(x), 0.0);
    ASSERT_LE(ulps(vector_softplus(x), exact), 4.0) << x;
  });
  EXPECT_TRUE(std::isnan(vector_softplus(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorLeaky, IsTheLineOfTheSign) {
  EXPECT_EQ(vector_leaky(2.0F, 0.1F), 2.0F);
  EXPECT_EQ(vector_leaky(-2.0F, 0.25F), -0.5F);
  EXPECT_EQ(vector_leaky(std::numeric_limits<float>::infinity(), 0.1F),
            std::numeric_limits<float>::infinity());
}

TEST(VectorErf, IsAccurateAndOdd) {
  for_floats(0.0F, 30.0F, [](float x) {
    ASSERT_NEAR(vector_erf(x), std::erf(static_cast<double>(x)), 3e-7) << x;
    ASSERT_EQ(vector_erf(-x), -vector_erf(x)) << x;
  });
  // Near 0 the relative error counts, too.
  EXPECT_NEAR(vector_erf(1e-6F) / 1.1283792e-6F, 1.0F, 1e-6F);
}

}  // namespace
}  // namespace qtool
