#pragma once

#include <cstdint>

// Transcendental functions without branches or calls, so that the compiler vectorizes loops over
// them. Every element is computed in the same way, at any position in a vector and on every
// instruction set.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): an ISA file must not emit functions that other
             // files could use, such as std::bit_cast() or __builtin_fabsf()

namespace float_bits {
[[gnu::always_inline]] inline std::int32_t bits_of(float x) {
  return __builtin_bit_cast(std::int32_t, x);
}
[[gnu::always_inline]] inline float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
/// All ones when a < b, else 0, for numbers of the same sign. Compilers turn a comparison of floats
/// into a branch and then do not vectorize.
[[gnu::always_inline]] inline std::uint32_t mask_less(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint32_t>((a - b) >> 31);
}
/// `a` where the mask is set, else `b`.
[[gnu::always_inline]] inline float blend(std::uint32_t mask, float a, float b) {
  return float_of((__builtin_bit_cast(std::uint32_t, a) & mask) |
                  (__builtin_bit_cast(std::uint32_t, b) & ~mask));
}
/// 2^exponent for exponents from -126 to 127; 0 for -127, infinity for 128.
[[gnu::always_inline]] inline float power_of_two(std::int32_t exponent) {
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23U);
}

/// e^x = 2^exponent rest.
struct Power {
  std::int32_t exponent;
  float rest;
};
/// Splits e^x for |x| <= 104: x = n ln 2 + r with |r| <= ln(2) / 2, so e^x = 2^n e^r. e^r is
/// computed by its Taylor polynomial of degree 7 (the next term is below 6e-9).
[[gnu::always_inline]] inline Power split_exp(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  // ln 2 in two parts; n times the first is exact.
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  return {bits_of(shifted) - 0x4b400000, p};
}
}  // namespace float_bits

/// e^x, within 2 units in the last place; overflow gives infinity, NaN stays NaN.
[[gnu::always_inline]] inline float vector_exp(float given) {
  // Beyond 104 the result is infinite or 0 anyway.
  const std::int32_t magnitude = float_bits::bits_of(given) & 0x7fffffff;
  const std::uint32_t is_small = float_bits::mask_less(magnitude, float_bits::bits_of(104.0F));
  const float x = float_bits::blend(is_small, given, __builtin_copysignf(104.0F, given));
  const float_bits::Power power = float_bits::split_exp(x);
  // 2^n is computed as two factors, since n exceeds the exponents of floats on both sides.
  const std::int32_t half = power.exponent >> 1;
  const float result =
      power.rest * float_bits::power_of_two(half) * float_bits::power_of_two(power.exponent - half);
  const std::uint32_t is_nan = float_bits::mask_less(0x7f800000, magnitude);
  return float_bits::blend(is_nan, given, result);
}

/// e^x - 1, within 4 units in the last place: computed from e^x where the subtraction does not
/// cancel, else by the Taylor polynomial.
[[gnu::always_inline]] inline float vector_expm1(float x) {
  const float large = vector_exp(x) - 1.0F;
  // The polynomial has degree 9. For |x| below 0.5 the next term is less than 3e-9 of the result.
  float p = 1.0F / 362880.0F;
  p = p * x + 1.0F / 40320.0F;
  p = p * x + 1.0F / 5040.0F;
  p = p * x + 1.0F / 720.0F;
  p = p * x + 1.0F / 120.0F;
  p = p * x + 1.0F / 24.0F;
  p = p * x + 1.0F / 6.0F;
  p = p * x + 0.5F;
  const float small = x + x * x * p;
  const std::uint32_t is_small =
      float_bits::mask_less(float_bits::bits_of(__builtin_fabsf(x)), float_bits::bits_of(0.5F));
  return float_bits::blend(is_small, small, large);
}

/// 1 / (1 + e^-x); 0 below -88.4, where the exact result is a denormal number.
[[gnu::always_inline]] inline float vector_sigmoid(float given) {
  // e^89 gives the exponent 128, that of infinity. Limits of integers cost less than masks.
  const std::int32_t bits = float_bits::bits_of(given);
  const std::int32_t magnitude = bits & 0x7fffffff;
  const std::int32_t most = float_bits::bits_of(89.0F);
  const std::int32_t within = magnitude < most ? magnitude : most;
  const std::uint32_t other_sign = ~static_cast<std::uint32_t>(bits) & 0x80000000U;
  const auto [exponent, rest] =
      float_bits::split_exp(float_bits::float_of(static_cast<std::uint32_t>(within) | other_sign));
  const float power = rest * float_bits::power_of_two(exponent < -127 ? -127 : exponent);
  const float result = 1.0F / (1.0F + power);
  const std::uint32_t is_nan = float_bits::mask_less(0x7f800000, magnitude);
  return float_bits::blend(is_nan, given, result);
}

/// x / (1 + e^-x), as the product of x and the rounded sigmoid.
[[gnu::always_inline]] inline float vector_silu(float x) { return x * vector_sigmoid(x); }

/// log(1 + u) for u from 0 to 1, within 2 units in the last place: 2 artanh(u / (2 + u)) by its
/// series up to the power 13 (the next term is below 2e-8 of the result).
[[gnu::always_inline]] inline float vector_log1p(float u) {
  const float s = u / (2.0F + u);
  const float q = s * s;
  float p = 1.0F / 13.0F;
  p = p * q + 1.0F / 11.0F;
  p = p * q + 1.0F / 9.0F;
  p = p * q + 1.0F / 7.0F;
  p = p * q + 0.2F;
  p = p * q + 1.0F / 3.0F;
  return 2.0F * (s + s * q * p);
}

/// log(1 + e^x), without overflow.
[[gnu::always_inline]] inline float vector_softplus(float x) {
  const auto negative = static_cast<std::uint32_t>(float_bits::bits_of(x) >> 31);
  const float positive = float_bits::blend(negative, 0.0F, x);
  return positive + vector_log1p(vector_exp(-__builtin_fabsf(x)));
}

/// x, or `slope` x where x is negative.
[[gnu::always_inline]] inline float vector_leaky(float x, float slope) {
  return float_bits::blend(static_cast<std::uint32_t>(float_bits::bits_of(x) >> 31), slope * x, x);
}

/// x times the piecewise linear sigmoid of ONNX's HardSwish.
[[gnu::always_inline]] inline float hard_swish(float x) {
  const float ramp = x * (1.0F / 6.0F) + 0.5F;
  const float capped = ramp < 1.0F ? ramp : 1.0F;
  return x * (capped > 0.0F ? capped : 0.0F);
}

/// tanh x, within 4 units in the last place: computed from e^(2 |x|) where the subtraction does not
/// cancel, else by a polynomial.
[[gnu::always_inline]] inline float vector_tanh(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float large = 1.0F - 2.0F / (vector_exp(2.0F * magnitude) + 1.0F);
  // The Taylor polynomial has degree 13. For |x| below 0.4 the next term is less than 3e-9 of the
  // result.
  const float s = x * x;
  float p = 21844.0F / 6081075.0F;
  p = p * s - 1382.0F / 155925.0F;
  p = p * s + 62.0F / 2835.0F;
  p = p * s - 17.0F / 315.0F;
  p = p * s + 2.0F / 15.0F;
  p = p * s - 1.0F / 3.0F;
  const float small = magnitude + magnitude * s * p;
  const std::uint32_t is_small =
      float_bits::mask_less(float_bits::bits_of(magnitude), float_bits::bits_of(0.4F));
  return __builtin_copysignf(float_bits::blend(is_small, small, large), x);
}

/// erf x, within 3e-7: its Taylor series near 0, else Abramowitz and Stegun's formula 7.1.26.
[[gnu::always_inline]] inline float vector_erf(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float s = x * x;
  const float t = 1.0F / (1.0F + 0.3275911F * magnitude);
  float q = 1.061405429F;
  q = q * t - 1.453152027F;
  q = q * t + 1.421413741F;
  q = q * t - 0.284496736F;
  q = q * t + 0.254829592F;
  const float large = 1.0F - q * t * vector_exp(-s);
  // Terms 2 / sqrt(pi) (-1)^n x^(2n+1) / (n! (2n+1)) up to n = 7.
  float p = -1.0F / 75600.0F;
  p = p * s + 1.0F / 9360.0F;
  p = p * s - 1.0F / 1320.0F;
  p = p * s + 1.0F / 216.0F;
  p = p * s - 1.0F / 42.0F;
  p = p * s + 0.1F;
  p = p * s - 1.0F / 3.0F;
  p = p * s + 1.0F;
  const float small = 1.12837917F * magnitude * p;
  const std::uint32_t is_small =
      float_bits::mask_less(float_bits::bits_of(magnitude), float_bits::bits_of(0.7F));
  return __builtin_copysignf(float_bits::blend(is_small, small, large), x);
}

}  // namespace
}  // namespace qtool
