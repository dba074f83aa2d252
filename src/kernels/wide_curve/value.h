#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/wide_curve/contract.h"

namespace qtool {

/// y of a curve. For reference functions, portable kernels and fitting only.
inline float wide_curve_value(const WideCurve& curve, float x) {
  const float place = std::fma(x, curve.scale, curve.offset);
  const float above = place > 0.0F ? place : 0.0F;
  const float p = above < curve.last ? above : curve.last;
  constexpr auto kLastSegment = static_cast<float>(WideCurve::kSegments - 1);
  const auto s = static_cast<std::int32_t>(p < kLastSegment ? p : kLastSegment);
  const float t = p - static_cast<float>(s);
  float y = curve.coefficients[WideCurve::kCoefficients - 1][s];
  for (std::int32_t i = WideCurve::kCoefficients - 2; i >= 0; --i) {
    y = std::fma(y, t, curve.coefficients[i][s]);
  }
  return y;
}

/// Both bytes of a curve.
struct WideCurveBytes {
  std::uint8_t high;
  std::uint8_t low;
};
inline WideCurveBytes wide_curve_bytes(const WideCurve& curve, float x, float factor) {
  const float moved = std::fma(wide_curve_value(curve, x), factor, curve.start);
  const float least = moved > WideCurve::kLeast ? moved : WideCurve::kLeast;
  const float n = least < WideCurve::kMost ? least : WideCurve::kMost;
  const auto high = static_cast<std::int32_t>(n * WideCurve::kInverseSteps);
  const std::int32_t low = static_cast<std::int32_t>(n) - WideCurve::kSteps * high + 1;
  return {static_cast<std::uint8_t>(high), static_cast<std::uint8_t>(low)};
}

}  // namespace qtool
