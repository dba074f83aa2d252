#pragma once

#include <cstdint>

// Transcendental functions without branches or calls, of one float or of a vector of floats. Every
// element is computed in the same way, at any position in a vector and on every instruction set.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): an ISA file must not emit functions that other
             // files could use, such as std::bit_cast() or __builtin_fabsf()

namespace float_bits {
/// The integers of the same size as F, which is float or a vector of floats.
template <typename F>
struct Integers {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
};
template <typename F>
using Signed = typename Integers<F>::Signed;
template <typename F>
using Unsigned = typename Integers<F>::Unsigned;

template <typename F>
[[gnu::always_inline]] inline Signed<F> bits_of(F x) {
  return __builtin_bit_cast(Signed<F>, x);
}
template <typename F>
[[gnu::always_inline]] inline F float_of(Unsigned<F> bits) {
  return __builtin_bit_cast(F, bits);
}
template <typename F>
[[gnu::always_inline]] inline F magnitude_of(F x) {
  return __builtin_bit_cast(F, bits_of(x) & 0x7fffffff);
}
/// `magnitude`, which is not negative, with the sign of `signs`.
template <typename F>
[[gnu::always_inline]] inline F with_sign_of(F signs, F magnitude) {
  const auto sign = __builtin_bit_cast(Unsigned<F>, signs) & 0x80000000U;
  return float_of<F>(__builtin_bit_cast(Unsigned<F>, magnitude) | sign);
}
/// All ones when a < b, else 0, for integers whose difference fits. Compilers turn a comparison of
/// floats into a branch and then do not vectorize.
template <typename F>
[[gnu::always_inline]] inline Unsigned<F> mask_less(Signed<F> a, Signed<F> b) {
  return __builtin_bit_cast(Unsigned<F>, (a - b) >> 31);
}
/// Integers that are all `number`.
template <typename F>
[[gnu::always_inline]] inline Signed<F> all(std::int32_t number) {
  return Signed<F>{} + number;
}
template <typename I>
[[gnu::always_inline]] inline I smaller(I a, I b) {
  return a < b ? a : b;
}
/// `a` where the mask is set, else `b`.
template <typename F>
[[gnu::always_inline]] inline F blend(Unsigned<F> mask, F a, F b) {
  return float_of<F>((__builtin_bit_cast(Unsigned<F>, a) & mask) |
                     (__builtin_bit_cast(Unsigned<F>, b) & ~mask));
}
/// 2^exponent for exponents from -126 to 127; 0 for -127, infinity for 128.
template <typename F>
[[gnu::always_inline]] inline F power_of_two(Signed<F> exponent) {
  return float_of<F>(__builtin_bit_cast(Unsigned<F>, exponent + 127) << 23U);
}

/// e^x = 2^exponent rest.
template <typename F>
struct Power {
  Signed<F> exponent;
  F rest;
};
/// Splits e^x for |x| <= 104: x = n ln 2 + r with |r| <= ln(2) / 2, so e^x = 2^n e^r. e^r is
/// computed by its Taylor polynomial of degree 7 (the next term is below 6e-9).
template <typename F>
[[gnu::always_inline]] inline Power<F> split_exp(F x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const F shifted = x * 1.44269504F + kRound;
  const F n = shifted - kRound;
  // ln 2 in two parts; n times the first is exact.
  const F r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  F p = r * (1.0F / 5040.0F) + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  return {bits_of(shifted) - 0x4b400000, p};
}
}  // namespace float_bits

/// e^x, within 2 units in the last place; overflow gives infinity, NaN stays NaN.
template <typename F>
[[gnu::always_inline]] inline F vector_exp(F given) {
  using namespace float_bits;
  // Beyond 104 the result is infinite or 0 anyway.
  const Signed<F> magnitude = bits_of(given) & 0x7fffffff;
  const Unsigned<F> is_small = mask_less<F>(magnitude, all<F>(bits_of(104.0F)));
  const F x = blend<F>(is_small, given, with_sign_of<F>(given, F{} + 104.0F));
  const Power<F> power = split_exp<F>(x);
  // 2^n is computed as two factors, since n exceeds the exponents of floats on both sides.
  const Signed<F> half = power.exponent >> 1;
  const F result = power.rest * power_of_two<F>(half) * power_of_two<F>(power.exponent - half);
  const Unsigned<F> is_nan = mask_less<F>(all<F>(0x7f800000), magnitude);
  return blend<F>(is_nan, given, result);
}

/// e^x - 1, within 4 units in the last place: computed from e^x where the subtraction does not
/// cancel, else by the Taylor polynomial.
template <typename F>
[[gnu::always_inline]] inline F vector_expm1(F x) {
  using namespace float_bits;
  const F large = vector_exp<F>(x) - 1.0F;
  // The polynomial has degree 9. For |x| below 0.5 the next term is less than 3e-9 of the result.
  F p = x * (1.0F / 362880.0F) + 1.0F / 40320.0F;
  p = p * x + 1.0F / 5040.0F;
  p = p * x + 1.0F / 720.0F;
  p = p * x + 1.0F / 120.0F;
  p = p * x + 1.0F / 24.0F;
  p = p * x + 1.0F / 6.0F;
  p = p * x + 0.5F;
  const F small = x + x * x * p;
  const Unsigned<F> is_small = mask_less<F>(bits_of(magnitude_of(x)), all<F>(bits_of(0.5F)));
  return blend<F>(is_small, small, large);
}

/// 1 / (1 + e^-x); 0 below -88.4, where the exact result is a denormal number.
template <typename F>
[[gnu::always_inline]] inline F vector_sigmoid(F given) {
  using namespace float_bits;
  // e^89 gives the exponent 128, that of infinity. Limits of integers cost less than masks.
  const Signed<F> bits = bits_of(given);
  const Signed<F> magnitude = bits & 0x7fffffff;
  const Signed<F> within = smaller(magnitude, all<F>(bits_of(89.0F)));
  const Unsigned<F> other_sign = ~__builtin_bit_cast(Unsigned<F>, bits) & 0x80000000U;
  const Power<F> split =
      split_exp<F>(float_of<F>(__builtin_bit_cast(Unsigned<F>, within) | other_sign));
  const Signed<F> lowest = all<F>(-127);
  const F power = split.rest * power_of_two<F>(split.exponent < lowest ? lowest : split.exponent);
  const F result = 1.0F / (1.0F + power);
  const Unsigned<F> is_nan = mask_less<F>(all<F>(0x7f800000), magnitude);
  return blend<F>(is_nan, given, result);
}
/// x / (1 + e^-x), as the product of x and the rounded sigmoid.
template <typename F>
[[gnu::always_inline]] inline F vector_silu(F x) {
  return x * vector_sigmoid<F>(x);
}

/// log(1 + u) for u from 0 to 1, within 2 units in the last place: 2 artanh(u / (2 + u)) by its
/// series up to the power 13 (the next term is below 2e-8 of the result).
template <typename F>
[[gnu::always_inline]] inline F vector_log1p(F u) {
  const F s = u / (2.0F + u);
  const F q = s * s;
  F p = q * (1.0F / 13.0F) + 1.0F / 11.0F;
  p = p * q + 1.0F / 9.0F;
  p = p * q + 1.0F / 7.0F;
  p = p * q + 0.2F;
  p = p * q + 1.0F / 3.0F;
  return 2.0F * (s + s * q * p);
}

/// log(1 + e^x), without overflow.
template <typename F>
[[gnu::always_inline]] inline F vector_softplus(F x) {
  using namespace float_bits;
  const auto negative = __builtin_bit_cast(Unsigned<F>, bits_of(x) >> 31);
  const F positive = blend<F>(negative, F{}, x);
  return positive + vector_log1p<F>(vector_exp<F>(-magnitude_of(x)));
}

/// x, or `slope` x where x is negative.
[[gnu::always_inline]] inline float vector_leaky(float x, float slope) {
  const auto negative = static_cast<std::uint32_t>(float_bits::bits_of(x) >> 31);
  return float_bits::blend(negative, slope * x, x);
}

/// x times the piecewise linear sigmoid of ONNX's HardSwish.
[[gnu::always_inline]] inline float hard_swish(float x) {
  const float ramp = x * (1.0F / 6.0F) + 0.5F;
  const float capped = ramp < 1.0F ? ramp : 1.0F;
  return x * (capped > 0.0F ? capped : 0.0F);
}

/// tanh x, within 4 units in the last place: computed from e^(2 |x|) where the subtraction does not
/// cancel, else by a polynomial.
template <typename F>
[[gnu::always_inline]] inline F vector_tanh(F x) {
  using namespace float_bits;
  const F magnitude = magnitude_of(x);
  const F large = 1.0F - 2.0F / (vector_exp<F>(2.0F * magnitude) + 1.0F);
  // The Taylor polynomial has degree 13. For |x| below 0.4 the next term is less than 3e-9 of the
  // result.
  const F s = x * x;
  F p = s * (21844.0F / 6081075.0F) - 1382.0F / 155925.0F;
  p = p * s + 62.0F / 2835.0F;
  p = p * s - 17.0F / 315.0F;
  p = p * s + 2.0F / 15.0F;
  p = p * s - 1.0F / 3.0F;
  const F small = magnitude + magnitude * s * p;
  const Unsigned<F> is_small = mask_less<F>(bits_of(magnitude), all<F>(bits_of(0.4F)));
  return with_sign_of<F>(x, blend<F>(is_small, small, large));
}

/// erf x, within 3e-7: its Taylor series near 0, else Abramowitz and Stegun's formula 7.1.26.
template <typename F>
[[gnu::always_inline]] inline F vector_erf(F x) {
  using namespace float_bits;
  const F magnitude = magnitude_of(x);
  const F s = x * x;
  const F t = 1.0F / (1.0F + 0.3275911F * magnitude);
  F q = t * 1.061405429F - 1.453152027F;
  q = q * t + 1.421413741F;
  q = q * t - 0.284496736F;
  q = q * t + 0.254829592F;
  const F large = 1.0F - q * t * vector_exp<F>(-s);
  // Terms 2 / sqrt(pi) (-1)^n x^(2n+1) / (n! (2n+1)) up to n = 7.
  F p = s * (-1.0F / 75600.0F) + 1.0F / 9360.0F;
  p = p * s - 1.0F / 1320.0F;
  p = p * s + 1.0F / 216.0F;
  p = p * s - 1.0F / 42.0F;
  p = p * s + 0.1F;
  p = p * s - 1.0F / 3.0F;
  p = p * s + 1.0F;
  const F small = 1.12837917F * magnitude * p;
  const Unsigned<F> is_small = mask_less<F>(bits_of(magnitude), all<F>(bits_of(0.7F)));
  return with_sign_of<F>(x, blend<F>(is_small, small, large));
}
}  // namespace
}  // namespace qtool
