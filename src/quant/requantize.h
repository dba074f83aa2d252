#pragma once

#include <cstdint>

#include "qtool/quant/affine.h"

namespace qtool {

/// A multiplier as two integers: M ~ mantissa * 2^(shift - 31), mantissa 0 or in [2^30, 2^31).
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  int shift = 0;  ///< -31 to 30; positive for M >= 1
  friend bool operator==(const FixedMultiplier&, const FixedMultiplier&) = default;
};

/// M = M0 2^shift with M0 in [0.5, 1) and mantissa = round(M0 2^31), half away from zero; a
/// mantissa of 2^31 is halved and the shift raised. M below about 2^-32 becomes 0: no sum would
/// round to anything else. M of 2^30 and more becomes the largest multiplier: every sum but 0
/// saturates. Throws Error(kInvalidArgument) when M is negative or not finite. Source: TensorFlow
/// Lite, kernels/internal/quantization_util.cc, QuantizeMultiplier. Differs from source: the source
/// limits large M in its single-rounding build only; its other build would overflow.
FixedMultiplier decompose_multiplier(double multiplier);

/// (2 a b) / 2^32, rounded to nearest, ties toward +infinity; INT_MIN * INT_MIN gives INT_MAX.
/// Known answers: (3, 2^30) = 2, (-3, 2^30) = -1, (1, 2^30) = 1, (-1, 2^30) = 0.
/// Source: gemmlowp, fixedpoint/fixedpoint.h, SaturatingRoundingDoublingHighMul.
std::int32_t saturating_rounding_doubling_high_mul(std::int32_t a, std::int32_t b) noexcept;

/// x / 2^exponent, rounded to nearest, ties away from zero; exponent 0 to 31.
/// Known answers: (3, 1) = 2, (-3, 1) = -2, (1, 1) = 1, (-1, 1) = -1.
/// Source: gemmlowp, fixedpoint/fixedpoint.h, RoundingDivideByPOT.
std::int32_t rounding_divide_by_pot(std::int32_t x, int exponent) noexcept;

/// x M with two roundings: x 2^max(shift, 0), then the high half of the product with the mantissa,
/// then a division by 2^max(-shift, 0).
/// Source: TensorFlow Lite, kernels/internal/common.h, MultiplyByQuantizedMultiplier. Differs from
/// source: a left shift that leaves int32 saturates; there it is undefined.
std::int32_t multiply_rounding_twice(std::int32_t x, const FixedMultiplier& m) noexcept;

/// x M with one rounding, half up: (x mantissa + 2^(30 - shift)) >> (31 - shift), saturated to
/// int32. Source: TensorFlow Lite, the same function with TFLITE_SINGLE_ROUNDING. Differs from
/// source: a result beyond int32 saturates; there it is undefined.
std::int32_t multiply_rounding_once(std::int32_t x, const FixedMultiplier& m) noexcept;

/// Requantizes int32 sums to 8-bit integers with one multiplier, on one path.
class Requantizer {
 public:
  /// Throws the errors of decompose_multiplier(), whatever the path.
  Requantizer(Requantization path, double multiplier);

  /// x M, rounded by the rule of the path and saturated to int32.
  [[nodiscard]] std::int32_t scale(std::int32_t x) const noexcept;
  /// clamp(scale(acc) + zero_point, limits). With kFloat the result has the same bits as that of
  /// the kernels' epilogue. Source: Jacob et al., arXiv 1712.05877, section 2.2; gemmlowp
  /// doc/quantization.md.
  [[nodiscard]] std::int32_t operator()(std::int32_t acc, std::int32_t zero_point,
                                        const Limits& limits) const noexcept;
  [[nodiscard]] const FixedMultiplier& fixed() const noexcept { return fixed_; }

 private:
  Requantization path_;
  float real_;
  FixedMultiplier fixed_;
};

}  // namespace qtool
