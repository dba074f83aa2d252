#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/curve.h"

namespace qtool {

/// mul() of Curve.
inline std::int32_t multiply_fractions(std::int32_t a, std::int32_t b) {
  return static_cast<std::int16_t>((a * b + 0x4000) >> 15);
}

/// y of a curve at the position `p`, -32768 to 32767. For reference functions and portable kernels
/// only, like round_to_u8().
inline std::int32_t curve_value(const Curve& curve, std::int32_t p) {
  const auto bits = static_cast<std::uint16_t>(p);
  const std::int32_t s = bits >> curve.place_bits;
  const std::int32_t t = static_cast<std::uint16_t>(bits << (16 - curve.place_bits)) - 32768;
  std::int32_t y = 0;
  for (std::int32_t i = Curve::kCoefficients - 1; i >= 0; --i) {
    const std::int32_t coefficient =
        static_cast<std::int16_t>(curve.low[i][s] | curve.high[i][s] << 8);
    y = std::clamp(multiply_fractions(y, t) + coefficient, -32768, 32767);
  }
  return y;
}

/// The byte that a curve gives for a sum, its multiplier and its factor.
inline std::uint8_t curve_byte(const Curve& curve, std::int32_t sum, float multiplier,
                               const CurveFactor& factor) {
  const float moved = std::fma(static_cast<float>(sum), multiplier, curve.offset);
  const float inside = std::clamp(moved, -32768.0F, 32767.0F);
  const std::int32_t y = curve_value(curve, static_cast<std::int32_t>(std::nearbyint(inside)));
  const std::int32_t most = 32767 >> factor.shift;
  const std::int32_t product = multiply_fractions(y, factor.fraction);
  const std::int32_t z = std::clamp(product, -most, most) * (1 << factor.shift);
  return static_cast<std::uint8_t>(std::clamp((z + curve.added_units()) >> 7, 0, 255));
}

}  // namespace qtool
