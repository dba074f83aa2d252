#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace qtool {
namespace detail {
inline constexpr int kMantissaBits = 53;
// The free bits above a term: room for the sum of 2^40 largest terms, and for the sign.
inline constexpr int kTermHeadroom = 41;

/// A term of +-magnitude * 2^shift units. The term 0 is not negative.
struct FixedTerm {
  std::uint64_t magnitude;
  unsigned shift;
  bool negative;
};
/// Throws Error(kInvalidArgument), because the term is not finite or not below 2^limit.
[[noreturn]] void refuse_term(double value, int limit);
/// magnitude / 2^shift, rounded half to even.
std::uint64_t shift_right_rounded(std::uint64_t magnitude, int shift);

/// `value` in units of 2^unit_exponent, rounded half to even. Throws when it is not finite, or when
/// 2^40 terms of its size would overflow a sum of `limbs` limbs.
inline FixedTerm fixed_term(double value, int unit_exponent, std::size_t limbs) {
  // value = magnitude * 2^(exponent - 53). A denormal double has the exponent of the smallest
  // normal one and no hidden bit.
  constexpr int kBias = 1022;
  constexpr int kNotFinite = 0x7FF;
  constexpr std::uint64_t kHidden = std::uint64_t{1} << (kMantissaBits - 1);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<int>((bits >> (kMantissaBits - 1)) & 0x7FFU);
  std::uint64_t magnitude = (bits & (kHidden - 1)) | (biased > 0 ? kHidden : 0);
  const int exponent = std::max(biased, 1) - kBias;
  const int limit = static_cast<int>(limbs) * 64 - kTermHeadroom + unit_exponent;
  if (exponent > limit || biased == kNotFinite) refuse_term(value, limit);
  int shift = exponent - kMantissaBits - unit_exponent;
  if (shift < 0) {
    magnitude = shift_right_rounded(magnitude, -shift);
    shift = 0;
  }
  return {magnitude, static_cast<unsigned>(shift), magnitude != 0 && (bits >> 63U) != 0};
}

/// Adds a term that does not reach the sign bit. The code does not branch on the sign, which is
/// unpredictable: it runs for every channel of every image.
inline void fixed_add(std::span<std::uint64_t> limbs, const FixedTerm& term) {
  std::size_t limb = term.shift / 64;
  const unsigned offset = term.shift % 64;
  // The term in two's complement: `low` and `high`, then `sign` in every limb above.
  const std::uint64_t sign = std::uint64_t{0} - (term.negative ? 1U : 0U);
  const std::uint64_t low = ((term.magnitude << offset) ^ sign) - sign;
  const std::uint64_t borrow = low == 0 ? sign : std::uint64_t{0};  // the negation's carry
  const std::uint64_t high = (((term.magnitude >> 1U) >> (63 - offset)) ^ sign) - borrow;
  limbs[limb] += low;
  std::uint64_t carry = limbs[limb] < low ? 1 : 0;
  for (std::uint64_t part = high; ++limb < limbs.size(); part = sign) {
    const std::uint64_t partial = limbs[limb] + carry;
    carry = partial < carry ? 1 : 0;
    limbs[limb] = partial + part;
    carry += limbs[limb] < part ? 1U : 0U;
    // The remaining limbs would not change: each would add 0 without a carry, or all ones with a
    // carry.
    if (carry == (sign & 1U)) break;
  }
}

void fixed_merge(std::span<std::uint64_t> limbs, std::span<const std::uint64_t> other);
double fixed_value(std::span<const std::uint64_t> limbs, int unit_exponent);
}  // namespace detail

/// A sum of doubles that does not depend on the order of its terms: a two's complement integer of
/// `kLimbs` 64-bit limbs that counts units of 2^kUnitExponent. A term is rounded to units (half to
/// even) before it is added; everything after that is exact.
/// Cost: a few nanoseconds per term.
template <std::size_t kLimbs, int kUnitExponent>
class FixedPointSum {
 public:
  /// Throws Error(kInvalidArgument) when `value` is not finite or does not fit. 2^40 terms of the
  /// largest accepted size cannot overflow the sum.
  void add(double value) {
    detail::fixed_add(limbs_, detail::fixed_term(value, kUnitExponent, kLimbs));
  }
  void merge(const FixedPointSum& other) { detail::fixed_merge(limbs_, other.limbs_); }
  /// The sum, rounded once to the nearest double (half to even).
  [[nodiscard]] double value() const { return detail::fixed_value(limbs_, kUnitExponent); }

  /// The state, least significant limb first, for storing.
  [[nodiscard]] const std::array<std::uint64_t, kLimbs>& limbs() const noexcept { return limbs_; }
  static FixedPointSum from_limbs(const std::array<std::uint64_t, kLimbs>& limbs) noexcept {
    FixedPointSum sum;
    sum.limbs_ = limbs;
    return sum;
  }

  friend bool operator==(const FixedPointSum&, const FixedPointSum&) = default;

 private:
  std::array<std::uint64_t, kLimbs> limbs_{};
};

/// Sums of float32 values: every float32 is a whole number of units of 2^-149, so such terms are
/// never rounded. Terms may be up to 2^192.
using ExactSum = FixedPointSum<6, -149>;
/// Sums of squares of float32 values, which are whole numbers of units of 2^-298. Terms may be up
/// to 2^300.
using ExactSquareSum = FixedPointSum<10, -298>;

}  // namespace qtool
