#include "quant/min_first.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr Limits kByteLimits{0, 255};

TEST(MinFirst, GivesThePublishedAnswer) {
  // The example of TensorFlow's documentation: the range -10 to 30 in eight bits.
  const MinFirst map = min_first({-10.0F, 30.0F}, kByteLimits);
  EXPECT_EQ(quantize_min_first(-10.0F, map), 0);
  EXPECT_EQ(quantize_min_first(10.0F, map), 128);
  EXPECT_EQ(quantize_min_first(30.0F, map), 255);
  EXPECT_EQ(map.offset, 64);  // round(-10 * 6.375) = -64
  EXPECT_EQ(quantize_min_first(-1e9F, map), 0);
  EXPECT_EQ(quantize_min_first(1e9F, map), 255);
  EXPECT_EQ(quantize_min_first(std::nanf(""), map), 64);
}

TEST(MinFirst, KeepsRealZeroExact) {
  for (const Range range : {Range{-3.0F, 7.0F}, Range{0.0F, 1.0F}, Range{-0.1F, 77.7F}}) {
    for (const Limits limits : {kByteLimits, Limits{-128, 127}, Limits{0, 15}}) {
      const MinFirst map = min_first(range, limits);
      EXPECT_EQ(dequantize_min_first(quantize_min_first(0.0F, map), map), 0.0F);
    }
  }
}

TEST(MinFirst, RoundsHalvesAwayFromZero) {
  const MinFirst map = min_first({-100.0F, 155.0F}, kByteLimits);  // one integer per unit
  EXPECT_EQ(quantize_min_first(0.5F, map) - map.offset, 1);
  EXPECT_EQ(quantize_min_first(2.5F, map) - map.offset, 3);
  EXPECT_EQ(quantize_min_first(-0.5F, map) - map.offset, -1);
}

TEST(MinFirst, AddsNoBiasWhereRoundingTheDifferenceDoes) {
  // rmin k = -63.4. Rounding (x - rmin) k and reading it back with the integer offset moves the
  // values by 0.4 of a step on average. Rounding x k and rmin k separately and subtracting does
  // not.
  const Range range{-63.4F, 191.6F};
  const MinFirst map = min_first(range, kByteLimits);
  ASSERT_NEAR(map.per_unit, 1.0, 1e-6);
  ASSERT_EQ(map.offset, 63);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> real(-60.0F, 188.0F);
  constexpr int kCount = 1000000;
  double both = 0.0;
  double difference = 0.0;
  for (int i = 0; i < kCount; ++i) {
    const float x = real(random);
    both += static_cast<double>(dequantize_min_first(quantize_min_first(x, map), map) - x);
    const auto q = static_cast<std::int32_t>(std::round((x - range.min) * map.per_unit));
    difference += static_cast<double>(dequantize_min_first(q, map) - x);
  }
  EXPECT_NEAR(both / kCount, 0.0, 0.002);
  EXPECT_NEAR(difference / kCount, 0.4, 0.002);
}

TEST(MinFirst, DriftsNotAtAllOverManyRequantizations) {
  // A tensor that is quantized again and again with different ranges, as between the layers of a
  // network.
  std::mt19937 random(2);
  std::uniform_real_distribution<float> real(-20.0F, 20.0F);
  std::uniform_real_distribution<float> step(0.2F, 0.4F);
  std::vector<float> values(20000);
  for (float& x : values) x = real(random);
  std::vector<float> both = values;
  std::vector<float> difference = values;
  double bias = 0.0;  // the bias that rounding the difference must add
  for (int pass = 0; pass < 10; ++pass) {
    const float s = step(random);
    const Range range{-120.4F * s, 134.6F * s};
    const MinFirst map = min_first(range, kByteLimits);
    bias += (std::round(range.min * map.per_unit) - range.min * map.per_unit) / map.per_unit;
    for (float& x : both) x = dequantize_min_first(quantize_min_first(x, map), map);
    for (float& x : difference) {
      x = dequantize_min_first(
          static_cast<std::int32_t>(std::round((x - range.min) * map.per_unit)), map);
    }
  }
  double both_error = 0.0;
  double difference_error = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    both_error += static_cast<double>(both[i] - values[i]);
    difference_error += static_cast<double>(difference[i] - values[i]);
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_GT(bias, 0.8);  // 0.4 of a step, ten times
  EXPECT_NEAR(both_error / count, 0.0, 0.02);
  EXPECT_NEAR(difference_error / count, bias, 0.1);
}

TEST(MinFirst, DefinesDegenerateRanges) {
  const MinFirst map = min_first({0.0F, 0.0F}, kByteLimits);
  EXPECT_EQ(quantize_min_first(0.0F, map), 0);
  EXPECT_EQ(dequantize_min_first(0, map), 0.0F);
  EXPECT_THROW(min_first({1.0F, -1.0F}, kByteLimits), Error);
  EXPECT_THROW(min_first({0.0F, std::numeric_limits<float>::infinity()}, kByteLimits), Error);
}

}  // namespace
}  // namespace qtool
