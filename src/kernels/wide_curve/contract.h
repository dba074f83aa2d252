#pragma once

#include <cstdint>

namespace qtool {

/// A real function of one number, whose results become the two bytes of a tensor that keeps 16
/// bits, or only the high one. It consists of polynomials of degree 4 between equally distant
/// places. Every operation is rounded to float; a b + c is one operation (fma):
/// p = min(max(x scale + offset, 0), last); s = trunc(min(p, kSegments - 1)); t = p - s;
/// y = (((c4 t + c3) t + c2) t + c1) t + c0, with the coefficients of segment s;
/// n = min(max(y factor + start, 0.5), 65023.5);
/// high = trunc(n (1 / kSteps)); low = trunc(n) - kSteps high + 1.
/// y counts steps of the low byte. NaN as x gives the same bytes as the lowest number.
struct WideCurve {
  static constexpr std::int32_t kSegments = 32;
  static constexpr std::int32_t kCoefficients = 5;
  static constexpr std::int32_t kSteps = 254;  ///< of the low byte in one of the high byte
  static constexpr float kInverseSteps = 1.0F / 254.0F;
  static constexpr float kLeast = 0.5F;  ///< of n
  static constexpr float kMost = 65023.5F;
  /// The largest position in the last segment, the last number below kSegments.
  static constexpr float kLastInside = 31.9999981F;
  /// The largest position where the last segment is a line that goes on behind it.
  static constexpr float kLastOnLine = 65536.0F;

  float scale = 1.0F;   ///< segments in one unit of the function's argument
  float offset = 0.0F;  ///< the position of 0
  float last = kLastInside;
  float start = 127.5F;  ///< kSteps times the zero point of the high byte, and 127.5 to round
  alignas(64) float coefficients[kCoefficients][kSegments] = {};  ///< c0 first
};

/// The numbers of a run, channels last.
struct WideCurveCall {
  const float* in = nullptr;       ///< [pixels][channels]
  const float* factors = nullptr;  ///< [channels], finite; null: all are 1
  std::uint8_t* high = nullptr;    ///< [pixels][channels]
  std::uint8_t* low = nullptr;     ///< [pixels][channels]; null: only the high bytes are wanted
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
};

struct WideCurveFunctions {
  void (*run)(const WideCurve& curve, const WideCurveCall& call);
};

#define QTOOL_KERNEL(name) extern const WideCurveFunctions wide_curve_##name;
#include "kernels/wide_curve/wide_curve.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
