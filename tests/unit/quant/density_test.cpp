#include "quant/density.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "unit/histograms.h"

namespace qtool {
namespace {

constexpr Scheme kDensityScheme{DType::kUInt8, 8, Symmetry::kAsymmetric};

// Normal values with a spike of zeros and a clipped negative tail: both signs occur, and they are
// not symmetric.
std::vector<float> skewed_values() {
  std::vector<float> values = normal_values(40000, 1.0F, 11);
  for (float& value : values) value = std::max(value, -0.7F);
  values.insert(values.end(), 10000, 0.0F);
  return values;
}

TEST(Density, HasTheMomentsOfTheValues) {
  const std::vector<float> values = skewed_values();
  const Density density(histogram_of(values));
  for (const double limit : {-0.7, -0.3, 0.0, 0.01, 1.0, 2.5, 10.0}) {
    Moments expected;
    for (const float value : values) {
      if (value == 0.0F || value >= limit) continue;
      expected.count += 1.0;
      expected.sum += value;
      expected.squares += double{value} * value;
    }
    const Moments found = density.below(limit);
    EXPECT_NEAR(found.count, expected.count, 8.0) << limit;
    EXPECT_NEAR(found.sum, expected.sum, 8.0) << limit;
    EXPECT_NEAR(found.squares, expected.squares, 8.0) << limit;
  }
  EXPECT_EQ(density.total().count, 50000.0);
}

TEST(Density, FindsQuantilesWithinACell) {
  std::vector<float> values = skewed_values();
  const FloatHistogram histogram = histogram_of(values);
  const Density density(histogram);
  std::sort(values.begin(), values.end());
  for (const double share : {0.0001, 0.01, 0.2, 0.45, 0.5, 0.9, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 50000.0)) - 1;
    EXPECT_NEAR(density.quantile(share), values[rank], 2.0 * histogram.cell_width()) << share;
  }
  EXPECT_EQ(Density(histogram_of(std::vector<float>(7))).quantile(0.5), 0.0);
}

TEST(Density, MeasuresTheMeanDeviation) {
  const std::vector<float> values = skewed_values();
  const Density density(histogram_of(values));
  for (const double centre : {-0.5, 0.0, 0.1, 3.0}) {
    double sum = 0.0;
    for (const float value : values) sum += std::abs(value - centre);
    EXPECT_NEAR(density.mean_deviation(centre), sum / 50000.0, 1e-4) << centre;
  }
}

TEST(Density, ProjectsOnTheIntegersOfAScale) {
  const std::vector<float> values = skewed_values();
  const Density density(histogram_of(values));
  for (const double scale : {0.3, 0.02, 0.004}) {
    Density::Projection expected;
    double noise = 0.0;
    for (const float value : values) {
      const double q = std::clamp(std::nearbyint(value / scale), -50.0, 127.0);
      expected.xq += value * q;
      expected.qq += q * q;
      noise += (value - scale * q) * (value - scale * q);
    }
    const Density::Projection found = density.project(scale, -50, 127);
    EXPECT_NEAR(found.xq, expected.xq, 2e-3 * expected.xq) << scale;
    EXPECT_NEAR(found.qq, expected.qq, 2e-3 * expected.qq) << scale;
    EXPECT_NEAR(density.noise(scale, -50, 127), noise, 5e-3 * noise) << scale;
  }
}

TEST(QuantizationEffect, AgreesWithQuantizingTheValuesThemselves) {
  std::vector<float> values = normal_values(50000, 1.0F, 9);
  for (float& value : values) value = std::max(value, 0.0F);
  const FloatHistogram histogram = histogram_of(values);
  const Limits limits = limits_of(kDensityScheme);
  for (const float top : {histogram.max(), 2.0F}) {
    const Affine affine = choose_affine({0.0F, top}, kDensityScheme);
    double signal = 0.0;
    double noise = 0.0;
    for (const float value : values) {
      const double error = value - dequantize_value(quantize_value(value, affine, limits), affine);
      signal += double{value} * value;
      noise += error * error;
    }
    const QuantizationEffect effect = Density(histogram).effect(affine, limits);
    EXPECT_NEAR(effect.sqnr_db(), 10.0 * std::log10(signal / noise), 0.05);
  }
}

TEST(QuantizationEffect, CountsSaturatedValues) {
  const FloatHistogram histogram = histogram_of({0.0F, 0.5F, 1.0F, 1.001F, 5.0F, -1.0F, -0.001F});
  const QuantizationEffect effect = Density(histogram).effect(
      choose_affine({0.0F, 1.0F}, kDensityScheme), limits_of(kDensityScheme));
  EXPECT_DOUBLE_EQ(effect.saturated_share,
                   2.0 / 7.0);  // 5 and -1; the others are within half a step
}

TEST(QuantizationEffect, TellsClippingFromRounding) {
  const FloatHistogram histogram = histogram_of({0.0F, 0.5F, 1.0F, 5.0F, -3.0F, -3.0F});
  const Density density(histogram);
  const Limits limits = limits_of(kDensityScheme);
  const QuantizationEffect clipped =
      density.effect(choose_affine({0.0F, 1.0F}, kDensityScheme), limits);
  EXPECT_NEAR(clipped.clipping, 4.0 * 4.0 + 2.0 * 3.0 * 3.0, 0.01);
  EXPECT_NEAR(clipped.noise - clipped.clipping, 0.0, 1e-4);
  const QuantizationEffect whole =
      density.effect(choose_affine({-3.0F, 5.0F}, kDensityScheme), limits);
  EXPECT_LT(whole.clipping, 0.001);
  EXPECT_GT(whole.noise, 0.0);
}

TEST(QuantizationEffect, IsHarmlessOnNothing) {
  const QuantizationEffect effect =
      Density(FloatHistogram()).effect(Affine{}, limits_of(kDensityScheme));
  EXPECT_EQ(effect.saturated_share, 0.0);
  EXPECT_EQ(effect.sqnr_db(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace qtool
