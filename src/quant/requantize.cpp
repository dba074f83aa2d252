#include "quant/requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

std::int32_t saturate(std::int64_t value) noexcept {
  return static_cast<std::int32_t>(std::clamp(value, kLowest, kHighest));
}

}  // namespace

FixedMultiplier decompose_multiplier(double multiplier) {
  if (!std::isfinite(multiplier) || multiplier < 0.0) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("requantization multiplier: found ", multiplier,
                        ", expected a finite number >= 0"));
  }
  FixedMultiplier fixed;
  const double fraction = std::frexp(multiplier, &fixed.shift);
  auto mantissa = static_cast<std::int64_t>(std::round(fraction * 2147483648.0));
  if (mantissa == std::int64_t{1} << 31) {
    mantissa /= 2;
    ++fixed.shift;
  }
  if (mantissa == 0 || fixed.shift < -31) return {};
  if (fixed.shift > 30) return {std::numeric_limits<std::int32_t>::max(), 30};
  fixed.mantissa = static_cast<std::int32_t>(mantissa);
  return fixed;
}

std::int32_t saturating_rounding_doubling_high_mul(std::int32_t a, std::int32_t b) noexcept {
  // Adding half and shifting is the published nudge and truncation: for a negative product,
  // trunc((ab + 1 - 2^30) / 2^31) = floor((ab + 2^30) / 2^31). Only the result of INT_MIN squared
  // does not fit in int32.
  const std::int64_t product = std::int64_t{a} * b;
  return saturate((product + (std::int64_t{1} << 30)) >> 31);
}

std::int32_t rounding_divide_by_pot(std::int32_t x, int exponent) noexcept {
  // Rounding half up becomes rounding half away from zero if a negative x is lowered by one unit
  // before the shift.
  if (exponent == 0) return x;
  const std::int64_t half = std::int64_t{1} << (exponent - 1);
  return static_cast<std::int32_t>((x + half - (x < 0 ? 1 : 0)) >> exponent);
}

std::int32_t multiply_rounding_twice(std::int32_t x, const FixedMultiplier& m) noexcept {
  const std::int32_t raised =
      m.shift > 0 ? saturate(std::int64_t{x} * (std::int64_t{1} << m.shift)) : x;
  return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(raised, m.mantissa),
                                std::max(-m.shift, 0));
}

std::int32_t multiply_rounding_once(std::int32_t x, const FixedMultiplier& m) noexcept {
  const int shift = 31 - m.shift;  // 1 to 62
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  return saturate((std::int64_t{x} * m.mantissa + half) >> shift);
}

Requantizer::Requantizer(Requantization path, double multiplier)
    : path_(path),
      real_(static_cast<float>(multiplier)),
      fixed_(decompose_multiplier(multiplier)) {}

std::int32_t Requantizer::scale(std::int32_t x) const noexcept {
  if (path_ == Requantization::kGemmlowp) return multiply_rounding_twice(x, fixed_);
  if (path_ == Requantization::kSingle) return multiply_rounding_once(x, fixed_);
  const double rounded = std::nearbyint(static_cast<float>(x) * real_);
  return static_cast<std::int32_t>(
      std::clamp(rounded, static_cast<double>(kLowest), static_cast<double>(kHighest)));
}

std::int32_t Requantizer::operator()(std::int32_t acc, std::int32_t zero_point,
                                     const Limits& limits) const noexcept {
  const std::int64_t raised = std::int64_t{scale(acc)} + zero_point;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(raised, limits.min, limits.max));
}

}  // namespace qtool
