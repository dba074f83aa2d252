#include "quant/exact_sum.h"

#include <bit>
#include <cmath>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool::detail {
namespace {

std::uint64_t bits_at(std::span<const std::uint64_t> limbs, std::size_t first_bit) {
  const std::size_t limb = first_bit / 64;
  const std::size_t offset = first_bit % 64;
  std::uint64_t bits = limbs[limb] >> offset;
  if (offset != 0 && limb + 1 < limbs.size()) bits |= limbs[limb + 1] << (64 - offset);
  return bits;
}

bool any_bit_below(std::span<const std::uint64_t> limbs, std::size_t bit) {
  for (std::size_t limb = 0; limb < bit / 64; ++limb) {
    if (limbs[limb] != 0) return true;
  }
  return bit % 64 != 0 && (limbs[bit / 64] & ((std::uint64_t{1} << (bit % 64)) - 1)) != 0;
}

}  // namespace

void refuse_term(double value, int limit) {
  throw Error(ErrorCode::kInvalidArgument, to_text("exact sum: found the term ", value,
                                                   ", expected a finite value below 2^", limit));
}

std::uint64_t shift_right_rounded(std::uint64_t magnitude, int shift) {
  if (shift > kMantissaBits + 1) return 0;
  const std::uint64_t kept = magnitude >> shift;
  const std::uint64_t lost = magnitude & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + ((lost > half || (lost == half && (kept & 1U) != 0)) ? 1 : 0);
}

void fixed_merge(std::span<std::uint64_t> limbs, std::span<const std::uint64_t> other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    const std::uint64_t partial = limbs[i] + carry;
    const std::uint64_t carried = partial < carry ? 1 : 0;
    limbs[i] = partial + other[i];
    carry = carried + (limbs[i] < partial ? 1 : 0);
  }
}

double fixed_value(std::span<const std::uint64_t> limbs, int unit_exponent) {
  constexpr std::size_t kMaxLimbs = 16;
  std::array<std::uint64_t, kMaxLimbs> storage{};
  const std::span<std::uint64_t> magnitude(storage.data(), limbs.size());
  const bool negative = (limbs.back() >> 63U) != 0;
  std::uint64_t carry = negative ? 1 : 0;  // two's complement negation
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    magnitude[i] = (negative ? ~limbs[i] : limbs[i]) + carry;
    carry = carry != 0 && magnitude[i] == 0 ? 1 : 0;
  }
  std::size_t length = 0;  // bits up to the highest set one
  for (std::size_t i = 0; i < magnitude.size(); ++i) {
    if (magnitude[i] != 0) {
      length = i * 64 + static_cast<std::size_t>(64 - std::countl_zero(magnitude[i]));
    }
  }
  if (length == 0) return 0.0;
  double result = 0.0;
  if (length <= kMantissaBits) {
    result = std::ldexp(static_cast<double>(magnitude[0]), unit_exponent);
  } else {
    const std::size_t dropped = length - kMantissaBits;
    std::uint64_t top = bits_at(magnitude, dropped);
    const bool half = (bits_at(magnitude, dropped - 1) & 1U) != 0;
    if (half && ((top & 1U) != 0 || any_bit_below(magnitude, dropped - 1))) ++top;
    result = std::ldexp(static_cast<double>(top), static_cast<int>(dropped) + unit_exponent);
  }
  return negative ? -result : result;
}

}  // namespace qtool::detail
