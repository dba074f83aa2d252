// Curves give the bytes of functions, in double precision, but for 0.04 of a step.
#include "ops/integer/fit_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/curve_byte.h"
#include "unit/ops/curve_functions.h"

namespace qtool {
namespace {

// The largest distance of an exact value times 2^shift, in steps, from what rounds to the byte of
// the curve.
double worst_error(const Curve& curve, const curves::Function& function, const Affine& bytes,
                   std::int16_t shift = 0) {
  constexpr std::int32_t kSums = 300000;
  const double most = std::max(2.1 * 32768.0 / static_cast<double>(curve.scale),
                               400.0 * static_cast<double>(bytes.scale));
  const double unit = most / kSums;
  const float multiplier = static_cast<float>(unit) * curve.scale;
  double worst = 0.0;
  for (std::int32_t sum = -kSums; sum <= kSums; ++sum) {
    const double x = sum * unit;
    const double exact =
        function(x) * (1 << shift) / static_cast<double>(bytes.scale) + bytes.zero_point;
    const std::uint8_t byte = curve_byte(curve, sum, multiplier, {shift, CurveFactor::kOne});
    const double error = std::abs(byte - std::clamp(exact, 0.0, 255.0));
    worst = std::max(worst, error - 0.5);
  }
  return worst;
}

class FitCurve : public testing::TestWithParam<curves::Case> {};

TEST_P(FitCurve, GivesTheBytesOfTheFunction) {
  const auto& [name, function, low, highs] = GetParam();
  for (const double high : highs) {
    SCOPED_TRACE(high);
    const Affine bytes = curves::bytes_of(low, high);
    const std::optional<Curve> curve = fit_curve(curves::in_floats(function), bytes);
    ASSERT_TRUE(curve);
    EXPECT_LE(worst_error(*curve, function, bytes), 0.041);  // the function is known in floats
    EXPECT_LE(worst_error(*curve, function, bytes, 3), 8 * 0.041);
  }
}

INSTANTIATE_TEST_SUITE_P(
    List, FitCurve,
    testing::Values(
        curves::Case{
            "silu", curves::silu, -0.2785, {0.5, 1.0, 2.0, 4.0, 6.0, 12.0, 40.0, 87.0, 4000.0}},
        curves::Case{"silu_cut_off_below", curves::silu, -0.1, {1.0, 3.0, 6.0}},
        curves::Case{"sigmoid", curves::sigmoid, 0.0, {0.7, 1.0}},
        curves::Case{"tanh", [](double x) { return std::tanh(x); }, -1.0, {0.5, 1.0}},
        curves::Case{"gelu", curves::gelu, -0.17, {0.5, 1.0, 6.0, 20.0}},
        curves::Case{"mish", curves::mish, -0.31, {3.0, 6.0, 20.0}},
        curves::Case{"leaky_relu", curves::leaky, -0.5, {1.0, 6.0, 20.0}},
        curves::Case{"leaky_relu_mirrored",
                     [](double x) { return curves::leaky(-x); },
                     -0.5,
                     {1.0, 6.0, 20.0}},
        curves::Case{
            "hard_swish", curves::hard_swish, -0.375, {0.5, 1.0, 1.98, 3.0, 6.0, 8.97, 20.0, 60.0}},
        curves::Case{"elu", curves::elu, -1.0, {1.0, 6.0, 20.0}},
        curves::Case{"linear", [](double x) { return 3.0 * x; }, -3.0, {6.0}}),
    [](const auto& each) { return each.param.name; });

TEST(FitCurve, RefusesWhatItCannotApproximate) {
  const Affine bytes = curves::bytes_of(-1.0, 1.0);
  const auto fit = [&](const curves::Function& function) {
    return fit_curve(curves::in_floats(function), bytes).has_value();
  };
  EXPECT_TRUE(fit([](double x) { return std::tanh(x); }));
  EXPECT_FALSE(fit([](double x) { return std::floor(x * 4.0) / 4.0; }));
  EXPECT_FALSE(fit([](double x) { return std::sin(x); }));
  EXPECT_FALSE(fit([](double x) { return 1.0 / x; }));
  EXPECT_FALSE(fit([](double x) { return std::abs(x - 0.123); }));
  EXPECT_FALSE(fit([](double x) { return x * x; }));  // exceeds the bytes on both sides
  EXPECT_FALSE(fit([](double) { return std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(fit([](double x) { return x < -1.0 ? std::sqrt(x) : x; }));  // NaN on one side
  // Kinks close to the end of a segment, where no node of the polynomial is.
  for (const double high : {1.98, 8.97, 20.0}) {
    EXPECT_FALSE(fit_curve(curves::in_floats(curves::narrow_swish), curves::bytes_of(-0.331, high))
                     .has_value());
  }
  const auto moved = [](double x) { return curves::leaky(x + 0.3); };
  EXPECT_FALSE(fit_curve(curves::in_floats(moved), curves::bytes_of(-0.5, 4.94)).has_value());
  const auto cut = [](double x) { return std::min(curves::silu(x), 2.5); };
  EXPECT_FALSE(fit_curve(curves::in_floats(cut), curves::bytes_of(-0.2785, 3.46)).has_value());
}

// Coefficients at their limits, an offset and sums that no number fits.
TEST(Curve, SaturatesAtBothEnds) {
  Curve curve;
  for (std::int32_t s = 0; s < 16; ++s) {
    curve.high[1][s] = s < 8 ? 0x7f : 0xc0;
  }
  curve.zero_point = 128;
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const CurveFactor one;
  EXPECT_EQ(curve_byte(curve, most, 1e30F, one), 255);
  EXPECT_EQ(curve_byte(curve, -most, 1e30F, one), 255);     // a negative slope
  EXPECT_EQ(curve_byte(curve, 0, 1.0F, one), 0);            // the left end of a segment
  EXPECT_EQ(curve_byte(curve, 2048, 1.0F, one), 128);       // its middle
  EXPECT_EQ(curve_byte(curve, 2048 + 16, 1.0F, one), 130);  // 2 steps farther
  EXPECT_EQ(curve_byte(curve, 2048 + 16, 1.0F, {4, 32767}), 160);
  EXPECT_EQ(curve_byte(curve, 2048 + 16, 1.0F, {4, -16384}), 112);
  EXPECT_EQ(curve_byte(curve, 4000, 1.0F, {4, 32767}), 255);
}

}  // namespace
}  // namespace qtool
