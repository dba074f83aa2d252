#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace qtool {
namespace detail {
void fixed_add(std::span<std::uint64_t> limbs, int unit_exponent, double value);
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
  void add(double value) { detail::fixed_add(limbs_, kUnitExponent, value); }
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
/// never rounded. Terms up to 2^192.
using ExactSum = FixedPointSum<6, -149>;
/// Sums of squares of float32 values, which are whole numbers of 2^-298. Terms up to 2^300.
using ExactSquareSum = FixedPointSum<10, -298>;

}  // namespace qtool
