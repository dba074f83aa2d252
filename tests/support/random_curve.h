#pragma once

#include "kernels/curve.h"
#include "support/kernel_cases.h"

namespace qtool::tests {

/// A curve of any coefficients, most of whose sums saturate, or do not.
inline Curve draw_curve(std::mt19937& random, Spread spread) {
  Curve curve;
  curve.offset = static_cast<float>(pick(random, -8, 8)) * 4096.0F;
  if (pick(random, 0, 3) == 0) curve.offset += static_cast<float>(pick(random, 0, 9)) / 7.0F;
  curve.place_bits = static_cast<std::int32_t>(pick(random, 11, 12));
  const std::size_t bytes = sizeof curve.low / sizeof curve.low[0][0];
  randomize(random, Spread::kUniform, &curve.low[0][0], bytes);
  randomize(random, spread, &curve.high[0][0], bytes);
  if (spread == Spread::kExtremes) return curve;
  for (std::int32_t s = 0; s < Curve::kMostSegments; ++s) {
    curve.high[0][s] &= 0x7f;  // c0 is the middle of a segment, within the bytes
    for (std::int32_t i = 1; i < Curve::kCoefficients; ++i) {
      curve.high[i][s] = curve.high[i][s] < 128 ? 0x05 : 0xfa;
    }
  }
  return curve;
}

}  // namespace qtool::tests
