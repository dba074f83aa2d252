#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/curve.h"
#include "support/kernel_cases.h"

namespace qtool::tests {

/// A curve of random coefficients. kExtremes: near the limits of 16 bits, so that sums saturate and
/// the product of -2^15 and -2^15 occurs. kUniform: few sums saturate.
inline Curve draw_curve(std::mt19937& random, Spread spread) {
  Curve curve;
  curve.offset = static_cast<float>(pick(random, -8, 8)) * 4096.0F;
  if (pick(random, 0, 3) == 0) curve.offset *= 0.77F;
  curve.place_bits = static_cast<std::int32_t>(pick(random, 11, 12));
  curve.zero_point = static_cast<std::int32_t>(pick(random, 0, 255));
  constexpr std::uint8_t kExtremeHigh[] = {0x7f, 0x80, 0x00, 0xff};
  constexpr std::uint8_t kExtremeLow[] = {0x00, 0xff};
  for (std::int32_t i = 0; i < Curve::kCoefficients; ++i) {
    for (std::int32_t s = 0; s < Curve::kMostSegments; ++s) {
      if (spread == Spread::kExtremes) {
        curve.high[i][s] = kExtremeHigh[pick(random, 0, 3)];
        curve.low[i][s] = kExtremeLow[pick(random, 0, 1)];
        continue;
      }
      // c0 is the middle of a segment, within the bytes.
      const std::int64_t least = i == 0 ? -curve.zero_point * Curve::kUnits : -1500;
      const std::int64_t coefficient = pick(random, least, i == 0 ? least + 32767 : 1500);
      curve.low[i][s] = static_cast<std::uint8_t>(coefficient & 0xff);
      curve.high[i][s] = static_cast<std::uint8_t>(coefficient >> 8 & 0xff);
    }
  }
  return curve;
}

/// Factors of `channels` channels: some are 1, others anything that 16 bits hold.
inline std::vector<CurveFactor> draw_factors(std::mt19937& random, std::int64_t channels) {
  std::vector<CurveFactor> factors(static_cast<std::size_t>(channels));
  for (CurveFactor& factor : factors) {
    if (pick(random, 0, 3) == 0) continue;
    factor.shift = static_cast<std::int16_t>(pick(random, 0, CurveFactor::kMostShift));
    factor.fraction =
        static_cast<std::int16_t>(pick(random, 0, 7) == 0 ? -32768 : pick(random, -20000, 32767));
  }
  return factors;
}

}  // namespace qtool::tests
