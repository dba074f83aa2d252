#include "qtool/quant/affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::array<std::pair<Requantization, std::string_view>, 3> kNames = {
    {{Requantization::kFloat, "float"},
     {Requantization::kGemmlowp, "gemmlowp"},
     {Requantization::kSingle, "single"}}};

bool usable_scale(float scale) {
  return std::isfinite(scale) && scale >= std::numeric_limits<float>::min();
}

}  // namespace

Limits limits_of(const Scheme& scheme) {
  if (scheme.bits < 2 || scheme.bits > 8) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("bits: found ", scheme.bits, ", expected 2 to 8"));
  }
  const std::int32_t half = 1 << (scheme.bits - 1);
  if (scheme.dtype == DType::kUInt8) {
    return scheme.symmetry == Symmetry::kSymmetric ? Limits{1, 2 * half - 1}
                                                   : Limits{0, 2 * half - 1};
  }
  if (scheme.dtype == DType::kInt8) {
    return scheme.symmetry == Symmetry::kSymmetric ? Limits{-(half - 1), half - 1}
                                                   : Limits{-half, half - 1};
  }
  throw Error(ErrorCode::kInvalidArgument,
              to_text("quantized type: found ", name_of(scheme.dtype), ", expected uint8 or int8"));
}

double exact_step(const Range& range, const Scheme& scheme) {
  const Limits limits = limits_of(scheme);
  const double span = scheme.symmetry == Symmetry::kSymmetric
                          ? 2.0 * std::max(-double{range.min}, double{range.max})
                          : double{range.max} - double{range.min};
  return span / (limits.max - limits.min);
}

Affine choose_affine(Range range, const Scheme& scheme) {
  const Limits limits = limits_of(scheme);
  if (std::isnan(range.min) || std::isnan(range.max) || range.min > range.max) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("range [", range.min, ", ", range.max, "] is not an interval"));
  }
  range = {std::min(range.min, 0.0F), std::max(range.max, 0.0F)};
  const auto scale = static_cast<float>(exact_step(range, scheme));
  if (scheme.symmetry == Symmetry::kSymmetric) {
    const std::int32_t zero_point = scheme.dtype == DType::kUInt8 ? 1 << (scheme.bits - 1) : 0;
    return {usable_scale(scale) ? scale : 1.0F, zero_point};
  }
  if (!usable_scale(scale)) return {1.0F, std::clamp(0, limits.min, limits.max)};
  const double exact = limits.min - double{range.min} / static_cast<double>(scale);
  const double nudged = std::round(std::clamp<double>(exact, limits.min, limits.max));
  return {scale, static_cast<std::int32_t>(nudged)};
}

std::int32_t quantize_value(float x, const Affine& affine, const Limits& limits) noexcept {
  const float scaled = std::nearbyint(x / affine.scale);
  const auto low = static_cast<float>(limits.min - affine.zero_point);
  const auto high = static_cast<float>(limits.max - affine.zero_point);
  if (std::isnan(scaled)) return affine.zero_point;
  return static_cast<std::int32_t>(std::clamp(scaled, low, high)) + affine.zero_point;
}

float dequantize_value(std::int32_t q, const Affine& affine) noexcept {
  return affine.scale * static_cast<float>(q - affine.zero_point);
}

Range represented_range(const Affine& affine, const Limits& limits) noexcept {
  return {dequantize_value(limits.min, affine), dequantize_value(limits.max, affine)};
}

std::string_view name_of(Requantization path) noexcept {
  return kNames[static_cast<std::size_t>(path)].second;
}

std::optional<Requantization> find_requantization(std::string_view name) noexcept {
  for (const auto& [path, known] : kNames) {
    if (known == name) return path;
  }
  return std::nullopt;
}

}  // namespace qtool
