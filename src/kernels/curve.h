#pragma once

#include <cstdint>

namespace qtool {

/// A function from real numbers to bytes, in 16 or 32 segments with a cubic polynomial each.
///
/// A kernel scales its sums such that the segments have 65536 positions. The position of a sum is
/// p = clamp(rint(v), -32768, 32767), where v is sum * multiplier + offset, rounded once to float.
/// In 16 bits, the lowest `place_bits` bits of p are the place in the segment: t = 2^(16 -
/// place_bits) (p mod 2^place_bits) - 2^15, a fraction of 2^15 that is 0 in the middle. The other
/// bits are the segment s. So the second half of the segments belongs to negative positions. With
/// the coefficients c0 to c3 of the segment,
///   y = c0 + mul(c1 + mul(c2 + mul(c3, t), t), t),  q = clamp(floor(y / 128), 0, 255),
/// where mul(a, b) = floor((a b + 2^14) / 2^15) in 16 bits, and each sum saturates at 16 bits. So
/// 128 units of y are one step of the result, and c0 includes the half step by which floor()
/// rounds. All of this is the same on every instruction set.
struct Curve {
  static constexpr std::int32_t kMostSegments = 32;
  static constexpr std::int32_t kCoefficients = 4;
  static constexpr std::int32_t kUnits = 128;  ///< of y in a step of the result

  float scale = 1.0F;  ///< positions in one unit of the function's argument
  float offset = 0.0F;
  std::int32_t place_bits = 12;  ///< 12 or 11: 16 or 32 segments
  /// The bytes of the coefficients, because AVX2 looks up single bytes: c_i of segment s is
  /// low[i][s] + 256 high[i][s], as an integer of 16 bits with sign.
  std::uint8_t low[kCoefficients][kMostSegments] = {};
  std::uint8_t high[kCoefficients][kMostSegments] = {};

  [[nodiscard]] constexpr std::int32_t segments() const { return 1 << (16 - place_bits); }
};

}  // namespace qtool
