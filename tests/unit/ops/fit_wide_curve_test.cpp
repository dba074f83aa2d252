// Wide curves give the two bytes of functions, in double precision, but for one step of the second
// byte.
#include "ops/integer/fit_wide_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/wide_curve/wide_curve.h"
#include "unit/ops/curve_functions.h"

namespace qtool {
namespace {

// The largest distance of an exact value times the factor from the value of both bytes, in steps of
// the second byte. The rounding to it is half a step.
double worst_distance(const WideCurve& curve, const curves::Function& function, const Affine& high,
                      float factor) {
  constexpr int kNumbers = 400001;
  const double most = 600.0 * static_cast<double>(high.scale) / static_cast<double>(factor) + 20.0;
  std::vector<float> in;
  for (int i = 0; i < kNumbers; ++i) {
    in.push_back(static_cast<float>(most * (2.0 * i / (kNumbers - 1) - 1.0)));
  }
  in.push_back(1e30F);
  in.push_back(-1e30F);
  in.push_back(std::numeric_limits<float>::infinity());
  in.push_back(-std::numeric_limits<float>::infinity());
  std::vector<std::uint8_t> first(in.size());
  std::vector<std::uint8_t> second(in.size());
  reference_wide_curve(curve, {in.data(), &factor, first.data(), second.data(), std::ssize(in), 1});
  constexpr double kSteps = WideCurve::kSteps;
  double worst = 0.0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = std::clamp(static_cast<double>(in[i]), -1e6, 1e6);
    const double exact =
        function(x) * static_cast<double>(factor) / static_cast<double>(high.scale) * kSteps;
    const double found = kSteps * (first[i] - high.zero_point) + second[i] - 128.0;
    const double within =
        std::clamp(exact, -kSteps * (high.zero_point + 0.5), kSteps * (255.5 - high.zero_point));
    worst = std::max(worst, std::abs(found - within) - 0.5);
  }
  return worst;
}

class FitWideCurve : public testing::TestWithParam<curves::Case> {};

TEST_P(FitWideCurve, GivesBothBytesOfTheFunction) {
  const auto& [name, function, low, highs] = GetParam();
  for (const double most : highs) {
    SCOPED_TRACE(most);
    const Affine high = curves::bytes_of(low, most);
    const std::optional<WideCurve> curve = fit_wide_curve(curves::in_floats(function), high);
    ASSERT_TRUE(curve);
    // Beside what the fit allows, n is a float, and the last n is half a step from the end.
    EXPECT_LE(worst_distance(*curve, function, high, 1.0F), 1.1);
    const std::optional<WideCurve> scaled = fit_wide_curve(
        curves::in_floats(function), curves::bytes_of(3.0 * low, 3.0 * most), {3.0F, 9.0F});
    ASSERT_TRUE(scaled);
    for (const float factor : {3.0F, 9.0F}) {
      EXPECT_LE(worst_distance(*scaled, function, curves::bytes_of(3.0 * low, 3.0 * most), factor),
                1.1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    List, FitWideCurve,
    testing::Values(
        curves::Case{"silu", curves::silu, -0.2785, {0.5, 1.0, 2.0, 4.0, 6.0, 12.0, 40.0, 4000.0}},
        curves::Case{"silu_cut_off_below", curves::silu, -0.1, {1.0, 3.0, 6.0}},
        curves::Case{"sigmoid", curves::sigmoid, 0.0, {0.7, 1.0}},
        curves::Case{"tanh", [](double x) { return std::tanh(x); }, -1.0, {0.5, 1.0}},
        curves::Case{"gelu", curves::gelu, -0.17, {1.0, 6.0, 20.0}},
        curves::Case{"mish", curves::mish, -0.31, {3.0, 6.0, 20.0}},
        curves::Case{"leaky_relu", curves::leaky, -0.5, {1.0, 6.0, 20.0}},
        curves::Case{
            "leaky_relu_mirrored", [](double x) { return curves::leaky(-x); }, -0.5, {1.0, 6.0}},
        curves::Case{"hard_swish", curves::hard_swish, -0.375, {1.98, 3.0, 6.0, 20.0, 60.0}},
        curves::Case{
            "elu", [](double x) { return x < 0.0 ? std::expm1(x) : x; }, -1.0, {1.0, 6.0, 20.0}},
        curves::Case{"linear", [](double x) { return 3.0 * x; }, -3.0, {6.0}}),
    [](const auto& each) { return each.param.name; });

TEST(FitWideCurve, RefusesWhatItCannotApproximate) {
  const Affine high = curves::bytes_of(-1.0, 1.0);
  const auto fit = [&](const curves::Function& function) {
    return fit_wide_curve(curves::in_floats(function), high).has_value();
  };
  EXPECT_TRUE(fit([](double x) { return std::tanh(x); }));
  EXPECT_FALSE(fit([](double x) { return std::floor(x * 4.1) / 4.1; }));
  EXPECT_FALSE(fit([](double x) { return std::sin(x); }));
  EXPECT_FALSE(fit([](double x) { return 1.0 / x; }));
  EXPECT_FALSE(fit([](double x) { return std::abs(x - 0.123); }));
  EXPECT_FALSE(fit([](double x) { return x * x; }));  // exceeds the bytes on both sides
  EXPECT_FALSE(fit([](double) { return std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(fit([](double x) { return x < -1.0 ? std::sqrt(x) : x; }));  // NaN on one side
  EXPECT_FALSE(fit([](double x) { return curves::leaky(x + 0.3); }));
}

// The error counts for the channel with the largest factor.
TEST(FitWideCurve, RefusesFactorsFarApart) {
  const Affine high = curves::bytes_of(-0.2785, 6.0);
  EXPECT_TRUE(fit_wide_curve(curves::in_floats(curves::silu), high, {0.5F, 2.0F}));
  EXPECT_FALSE(fit_wide_curve(curves::in_floats(curves::silu), high, {1e-4F, 2.0F}));
}

// The values before the factor would be infinite.
TEST(FitWideCurve, RefusesFactorsBeyondFloats) {
  EXPECT_TRUE(fit_wide_curve(curves::in_floats(curves::hard_swish), {1e-6F, 128}, {1e-4F, 1e-4F}));
  EXPECT_FALSE(
      fit_wide_curve(curves::in_floats(curves::hard_swish), {1e-6F, 128}, {1e-36F, 1e-36F}));
}

}  // namespace
}  // namespace qtool
