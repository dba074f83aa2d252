// Compares the requantization paths with their published definitions, written out in 128-bit
// integers.
#include "quant/requantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/round_to_u8.h"
#include "qtool/base/error.h"
#include "support/published_requantization.h"

namespace qtool {
namespace {

using tests::kIntMax;
using tests::kIntMin;
using tests::published_rdbpot;
using tests::published_srdhm;

std::int32_t published_twice(std::int32_t x, const FixedMultiplier& m) {
  return static_cast<std::int32_t>(tests::published_twice(x, {m.mantissa, m.shift}));
}
std::int32_t published_once(std::int32_t x, const FixedMultiplier& m) {
  return static_cast<std::int32_t>(tests::published_once(x, {m.mantissa, m.shift}));
}

TEST(Requantization, HasANameForEachPath) {
  for (const auto path :
       {Requantization::kFloat, Requantization::kGemmlowp, Requantization::kSingle}) {
    EXPECT_EQ(find_requantization(name_of(path)), path);
  }
  EXPECT_EQ(name_of(Requantization::kGemmlowp), "gemmlowp");
  EXPECT_FALSE(find_requantization("ruy"));
}

TEST(FixedPoint, GivesThePublishedAnswers) {
  constexpr std::int32_t kHalf = 1 << 30;
  EXPECT_EQ(saturating_rounding_doubling_high_mul(3, kHalf), 2);
  EXPECT_EQ(saturating_rounding_doubling_high_mul(-3, kHalf), -1);
  EXPECT_EQ(saturating_rounding_doubling_high_mul(1, kHalf), 1);
  EXPECT_EQ(saturating_rounding_doubling_high_mul(-1, kHalf), 0);
  EXPECT_EQ(saturating_rounding_doubling_high_mul(kIntMin, kIntMin), kIntMax);
  EXPECT_EQ(rounding_divide_by_pot(3, 1), 2);
  EXPECT_EQ(rounding_divide_by_pot(-3, 1), -2);
  EXPECT_EQ(rounding_divide_by_pot(1, 1), 1);
  EXPECT_EQ(rounding_divide_by_pot(-1, 1), -1);
}

TEST(FixedPoint, RoundsNegativeTiesDifferentlyOnTheTwoPaths) {
  const FixedMultiplier half = decompose_multiplier(0.5);  // 2^30, shift 0
  EXPECT_EQ(half, (FixedMultiplier{1 << 30, 0}));
  const FixedMultiplier quarter = decompose_multiplier(0.25);
  EXPECT_EQ(quarter, (FixedMultiplier{1 << 30, -1}));
  // 5/4 = 1.25. The first rounding makes 2.5 to 3, and the second makes half of that to 2. A single
  // rounding gives 1.
  EXPECT_EQ(multiply_rounding_twice(5, quarter), 2);
  EXPECT_EQ(multiply_rounding_once(5, quarter), 1);
  // -6/4 = -1.5. Two roundings round it away from zero, a single rounding rounds half up.
  EXPECT_EQ(multiply_rounding_twice(-6, quarter), -2);
  EXPECT_EQ(multiply_rounding_once(-6, quarter), -1);
}

TEST(DecomposeMultiplier, CoversEveryMagnitude) {
  EXPECT_EQ(decompose_multiplier(0.0), (FixedMultiplier{0, 0}));
  EXPECT_EQ(decompose_multiplier(1.0), (FixedMultiplier{1 << 30, 1}));
  EXPECT_EQ(decompose_multiplier(3.0), (FixedMultiplier{3 << 29, 2}));
  // The mantissa would round to 2^31, so it is halved and the shift grows by one.
  EXPECT_EQ(decompose_multiplier(std::nextafter(1.0, 0.0)), (FixedMultiplier{1 << 30, 1}));
  EXPECT_EQ(decompose_multiplier(std::nextafter(0.25, 0.0)), (FixedMultiplier{1 << 30, -1}));
  // The smallest multiplier that is kept, and one below it.
  EXPECT_EQ(decompose_multiplier(std::ldexp(0.5, -31)), (FixedMultiplier{1 << 30, -31}));
  EXPECT_EQ(decompose_multiplier(std::ldexp(0.5, -32)), (FixedMultiplier{0, 0}));
  EXPECT_EQ(decompose_multiplier(5e-324), (FixedMultiplier{0, 0}));
  // The largest multiplier, and larger ones.
  EXPECT_EQ(decompose_multiplier(std::ldexp(0.5, 30)), (FixedMultiplier{1 << 30, 30}));
  EXPECT_EQ(decompose_multiplier(std::ldexp(1.0, 30)), (FixedMultiplier{kIntMax, 30}));
  EXPECT_EQ(decompose_multiplier(1e300), (FixedMultiplier{kIntMax, 30}));
  for (const double bad : {-1e-9, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(decompose_multiplier(bad), Error);
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-30.0, 29.0);
  for (int i = 0; i < 100000; ++i) {
    const double real = std::exp2(exponent(random));
    const FixedMultiplier fixed = decompose_multiplier(real);
    ASSERT_GE(fixed.mantissa, 1 << 30);
    ASSERT_NEAR(std::ldexp(fixed.mantissa, fixed.shift - 31) / real, 1.0, std::ldexp(1.0, -31));
    const tests::PublishedMultiplier published = tests::published_multiplier(real);
    ASSERT_EQ(fixed.mantissa, published.mantissa);
    ASSERT_EQ(fixed.shift, published.shift);
  }
}

// Adds sums around the ties of a multiplier: x M near k + 1/2, and near ties of the first rounding.
void add_ties(std::vector<std::int32_t>& sums, const FixedMultiplier& m, std::mt19937_64& random) {
  const double real = std::ldexp(m.mantissa, m.shift - 31);
  std::uniform_int_distribution<int> unit(-300, 300);
  for (int i = 0; i < 300; ++i) {
    for (const double half : {0.5, 0.25, 0.75}) {
      const double x = (unit(random) + half) / std::max(real, 1e-12);
      if (!(std::abs(x) < 2147483000.0)) continue;
      for (std::int32_t near = -2; near <= 2; ++near) {
        sums.push_back(static_cast<std::int32_t>(std::floor(x)) + near);
      }
    }
  }
}

TEST(FixedPoint, EqualsThePublishedDefinitionsForMillionsOfSums) {
  constexpr unsigned kSeed = 20170707;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937_64 random(kSeed);
  std::uniform_int_distribution<std::int32_t> any(kIntMin, kIntMax);
  std::uniform_int_distribution<std::int32_t> small(-200000, 200000);
  std::vector<std::int32_t> extremes;
  for (std::int32_t i = 0; i < 40; ++i) {
    extremes.insert(extremes.end(), {kIntMin + i, kIntMax - i, i, -i});
  }
  for (int bit = 0; bit < 31; ++bit) {
    const std::int32_t power = std::int32_t{1} << bit;
    extremes.insert(extremes.end(), {power, -power, power - 1, 1 - power, power + 1, -power - 1});
  }
  std::int64_t compared = 0;
  for (int shift = -31; shift <= 30; ++shift) {
    std::vector<std::int32_t> mantissas = {1 << 30, (1 << 30) + 1, kIntMax, kIntMax - 1, 3 << 29};
    std::uniform_int_distribution<std::int32_t> mantissa(1 << 30, kIntMax);
    for (int i = 0; i < 11; ++i) mantissas.push_back(mantissa(random));
    for (const std::int32_t chosen : mantissas) {
      const FixedMultiplier m{chosen, shift};
      std::vector<std::int32_t> sums = extremes;
      add_ties(sums, m, random);
      for (int i = 0; i < 1000; ++i) sums.insert(sums.end(), {any(random), small(random)});
      for (const std::int32_t x : sums) {
        ASSERT_EQ(multiply_rounding_twice(x, m), published_twice(x, m))
            << x << " * " << chosen << " * 2^" << shift << "-31";
        ASSERT_EQ(multiply_rounding_once(x, m), published_once(x, m))
            << x << " * " << chosen << " * 2^" << shift << "-31";
        ASSERT_EQ(saturating_rounding_doubling_high_mul(x, chosen),
                  static_cast<std::int32_t>(published_srdhm(x, chosen)));
      }
      compared += static_cast<std::int64_t>(sums.size());
    }
  }
  EXPECT_GT(compared, 4000000);
  for (int exponent = 0; exponent <= 31; ++exponent) {
    for (int i = 0; i < 20000; ++i) {
      const std::int32_t x = i < static_cast<int>(extremes.size())
                                 ? extremes[static_cast<std::size_t>(i)]
                                 : any(random);
      ASSERT_EQ(rounding_divide_by_pot(x, exponent),
                static_cast<std::int32_t>(published_rdbpot(x, exponent)))
          << x << " / 2^" << exponent;
    }
  }
  for (const std::int32_t a : extremes) {
    for (const std::int32_t b : extremes) {
      ASSERT_EQ(saturating_rounding_doubling_high_mul(a, b),
                static_cast<std::int32_t>(published_srdhm(a, b)));
    }
  }
}

TEST(FixedPoint, PathsDifferOnTheStatedShareOfSums) {
  // Two roundings differ from one when the first rounding moves a value onto a tie of the second.
  // The second rounding has 2^n remainders, and the values within half a unit next to one of them
  // count.
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int32_t> sum(-(1 << 26), 1 << 26);
  std::uniform_int_distribution<std::int32_t> mantissa(1 << 30, kIntMax);
  for (int n = 1; n <= 8; ++n) {
    constexpr int kCount = 2000000;
    int different = 0;
    for (int i = 0; i < kCount; ++i) {
      const FixedMultiplier m{mantissa(random), -n};
      const std::int32_t x = sum(random);
      different += multiply_rounding_twice(x, m) != multiply_rounding_once(x, m) ? 1 : 0;
    }
    const double expected = std::exp2(-(n + 1));
    // Five standard deviations of the count.
    const double tolerance = 5.0 * std::sqrt(expected / kCount);
    EXPECT_NEAR(static_cast<double>(different) / kCount, expected, tolerance) << "shift " << n;
  }
}

TEST(Requantizer, AddsTheZeroPointAndClamps) {
  const Limits u8{0, 255};
  for (const auto path :
       {Requantization::kFloat, Requantization::kGemmlowp, Requantization::kSingle}) {
    const Requantizer tenth(path, 0.1);
    EXPECT_EQ(tenth(0, 7, u8), 7) << name_of(path);
    EXPECT_EQ(tenth(104, 7, u8), 17) << name_of(path);
    EXPECT_EQ(tenth(-104, 7, u8), 0) << name_of(path);
    EXPECT_EQ(tenth(-34, 7, {5, 9}), 5) << name_of(path);
    EXPECT_EQ(tenth(kIntMax, 255, u8), 255) << name_of(path);
    EXPECT_EQ(tenth(kIntMin, 0, u8), 0) << name_of(path);
    const Requantizer huge(path, 1e20);
    EXPECT_EQ(huge(1, 3, u8), 255) << name_of(path);
    EXPECT_EQ(huge(-1, 3, u8), 0) << name_of(path);
    EXPECT_EQ(huge(0, 3, u8), 3) << name_of(path);
    EXPECT_EQ(Requantizer(path, 0.0)(kIntMax, 3, u8), 3) << name_of(path);
    EXPECT_EQ(Requantizer(path, 1e-30)(kIntMin, 3, u8), 3) << name_of(path);
    EXPECT_EQ(Requantizer(path, 2.5)(20, 3, u8), 53) << name_of(path);
    EXPECT_THROW(Requantizer(path, -0.5), Error);
  }
}

TEST(Requantizer, EqualsTheKernelsEpilogueOnTheFloatPath) {
  std::mt19937_64 random(5);
  std::uniform_int_distribution<std::int32_t> any(kIntMin, kIntMax);
  std::uniform_int_distribution<std::int32_t> byte(0, 255);
  std::uniform_real_distribution<float> exponent(-26.0F, 4.0F);
  for (int i = 0; i < 1000000; ++i) {
    const float m = std::exp2(exponent(random));
    const std::int32_t acc = i % 2 == 0 ? any(random) : any(random) >> 14;
    const std::int32_t zero_point = byte(random);
    const Limits limits{byte(random) / 2, 128 + byte(random) / 2};
    ASSERT_EQ(Requantizer(Requantization::kFloat, m)(acc, zero_point, limits),
              round_to_u8(static_cast<float>(acc) * m, zero_point, limits.min, limits.max))
        << acc << " * " << m << " + " << zero_point;
  }
}

}  // namespace
}  // namespace qtool
