#pragma once

#include <cstdint>

namespace qtool {
namespace {  // NOLINT(google-build-namespaces): an ISA file must not emit functions that other
             // files could use; std::bit_cast() would be one

/// Returns ln of a positive normal number, with a relative error below 1e-15; the result for 0 is
/// finite. It is several times faster than the standard function; a search for a threshold needs
/// hundreds of thousands of logarithms. It has no branches and no tables, so that compilers
/// vectorize loops over it. Every such loop gives the same bits.
/// x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s) with s = (m - 1) / (m + 1), and
/// atanh(s) = s + s u p(u) with u = s^2, where p passes through the true values at the six
/// Chebyshev nodes of [0, (sqrt(2) - 1)^2 / (sqrt(2) + 1)^2]: the error of ln m is at most 2.4e-16.
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52U;
  constexpr auto kRootHalf = __builtin_bit_cast(std::uint64_t, 0.70710678118654752440);
  // Puts an integer below 2^52 into the mantissa of 2^52: faster than a conversion.
  constexpr std::uint64_t kShifted = std::uint64_t{1075} << 52U;
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const std::uint64_t biased = (bits + (kOne - kRootHalf)) >> 52U;
  const double exponent = __builtin_bit_cast(double, kShifted | biased) - (0x1p52 + 1023.0);
  const double m = __builtin_bit_cast(double, bits - (biased << 52U) + kOne);
  const double s = (m - 1.0) / (m + 1.0);
  const double u = s * s;
  double p = 0.08310908576429464;
  p = p * u + 0.09070096901432996;
  p = p * u + 0.11111431140054358;
  p = p * u + 0.1428571206916208;
  p = p * u + 0.20000000005603252;
  p = p * u + 0.3333333333333104;
  return exponent * kLn2 + (2.0 * s + 2.0 * s * u * p);
}

}  // namespace
}  // namespace qtool
