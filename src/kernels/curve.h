#pragma once

#include <cstdint>

namespace qtool {

/// A function from real numbers to bytes, in 16 or 32 segments with a cubic polynomial each. The
/// results of a channel may be multiplied by a factor before they are rounded, see CurveFactor.
///
/// A kernel scales its sums such that the segments have 65536 positions. The position of a sum is
/// p = clamp(rint(v), -32768, 32767), where v is sum * multiplier + offset, rounded once to float.
/// In 16 bits, the lowest `place_bits` bits of p are the place in the segment: t = 2^(16 -
/// place_bits) (p mod 2^place_bits) - 2^15, a fraction of 2^15 that is 0 in the middle. The other
/// bits are the segment s. So the second half of the segments belongs to negative positions. With
/// the coefficients c0 to c3 of the segment, and the shift and the fraction of the channel,
///   y = c0 + mul(c1 + mul(c2 + mul(c3, t), t), t),  m = floor(32767 / 2^shift),
///   z = 2^shift clamp(mul(y, fraction), -m, m),
///   q = clamp(floor((z + 64) / 128) + zero_point, 0, 255),
/// where mul(a, b) = floor((a b + 2^14) / 2^15) in 16 bits, and each sum saturates at 16 bits. So
/// 128 units of z are one step of the result. All of this is the same on every instruction set.
struct Curve {
  static constexpr std::int32_t kMostSegments = 32;
  static constexpr std::int32_t kCoefficients = 4;
  static constexpr std::int32_t kUnits = 128;  ///< of z in a step of the result

  float scale = 1.0F;  ///< positions in one unit of the function's argument
  float offset = 0.0F;
  std::int32_t place_bits = 12;  ///< 12 or 11: 16 or 32 segments
  std::int32_t zero_point = 0;   ///< 0 to 255
  /// The bytes of the coefficients, because AVX2 looks up single bytes: c_i of segment s is
  /// low[i][s] + 256 high[i][s], as an integer of 16 bits with sign.
  std::uint8_t low[kCoefficients][kMostSegments] = {};
  std::uint8_t high[kCoefficients][kMostSegments] = {};

  [[nodiscard]] constexpr std::int32_t segments() const { return 1 << (16 - place_bits); }

  /// What is added to z, with the half step by which floor() rounds.
  [[nodiscard]] constexpr std::int32_t added_units() const {
    return zero_point * kUnits + kUnits / 2;
  }
};

/// What the results of a channel on a curve are multiplied by: 2^shift fraction / 32767. The
/// default is 1. The coefficients of a curve make up for 32767 / 2^15, by which mul() differs.
struct CurveFactor {
  /// More would multiply the errors of y too much: measured on a detector, of whose layers one has
  /// larger factors, 0.2 dB.
  static constexpr std::int16_t kMostShift = 5;
  static constexpr std::int16_t kOne = 32767;  ///< the fraction 1

  std::int16_t shift = 0;  ///< 0 to kMostShift
  std::int16_t fraction = kOne;

  friend bool operator==(const CurveFactor&, const CurveFactor&) = default;
};

}  // namespace qtool
