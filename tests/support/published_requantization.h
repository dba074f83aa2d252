#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

// The published definitions of integer-only requantization, written out in 128-bit integers. They
// are the reference for all implementations. Nothing here overflows unless a comment says so.
namespace qtool::tests {

__extension__ using Wide = __int128;

inline constexpr std::int32_t kIntMin = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kIntMax = std::numeric_limits<std::int32_t>::max();

/// M ~ mantissa 2^(shift - 31).
struct PublishedMultiplier {
  std::int64_t mantissa = 0;
  int shift = 0;
};

/// TensorFlow Lite, QuantizeMultiplier, with the limit of its single-rounding build.
inline PublishedMultiplier published_multiplier(double real) {
  PublishedMultiplier m;
  if (real == 0.0) return m;
  const double fraction = std::frexp(real, &m.shift);
  m.mantissa = std::llround(fraction * static_cast<double>(std::int64_t{1} << 31));
  if (m.mantissa == std::int64_t{1} << 31) {
    m.mantissa /= 2;
    ++m.shift;
  }
  if (m.shift < -31) m = {};
  if (m.shift > 30) m = {kIntMax, 30};
  return m;
}

/// gemmlowp, SaturatingRoundingDoublingHighMul: nudge, then truncate.
inline Wide published_srdhm(Wide a, Wide b) {
  if (a == kIntMin && b == kIntMin) return kIntMax;
  const Wide product = a * b;
  const Wide nudge = product >= 0 ? (Wide{1} << 30) : 1 - (Wide{1} << 30);
  return (product + nudge) / (Wide{1} << 31);
}

/// gemmlowp, RoundingDivideByPOT: remainder against a threshold. Masking the two's complement of a
/// negative number gives the remainder of floor division.
inline Wide published_rdbpot(Wide x, int exponent) {
  const Wide divisor = Wide{1} << exponent;
  const Wide mask = divisor - 1;
  const Wide remainder = ((x % divisor) + divisor) % divisor;
  const Wide threshold = mask / 2 + (x < 0 ? 1 : 0);
  return (x - remainder) / divisor + (remainder > threshold ? 1 : 0);
}

inline Wide published_saturation(Wide x) { return std::clamp(x, Wide{kIntMin}, Wide{kIntMax}); }

/// TensorFlow Lite, MultiplyByQuantizedMultiplier; its left shift may overflow, here it saturates.
inline Wide published_twice(Wide x, const PublishedMultiplier& m) {
  const Wide raised = published_saturation(x * (Wide{1} << std::max(m.shift, 0)));
  return published_rdbpot(published_srdhm(raised, m.mantissa), std::max(-m.shift, 0));
}

/// TensorFlow Lite, MultiplyByQuantizedMultiplier with TFLITE_SINGLE_ROUNDING: floor((x mantissa +
/// half) / 2^(31 - shift)).
inline Wide published_once(Wide x, const PublishedMultiplier& m) {
  const Wide divisor = Wide{1} << (31 - m.shift);
  const Wide sum = x * m.mantissa + divisor / 2;
  const Wide remainder = ((sum % divisor) + divisor) % divisor;
  return published_saturation((sum - remainder) / divisor);
}

}  // namespace qtool::tests
