#include "quant/min_first.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {

MinFirst min_first(Range range, const Limits& limits) {
  if (!std::isfinite(range.min) || !std::isfinite(range.max) || range.min > range.max) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("range [", range.min, ", ", range.max, "] is not a finite interval"));
  }
  MinFirst map;
  map.limits = limits;
  const double width = static_cast<double>(range.max) - static_cast<double>(range.min);
  if (width > 0.0) map.per_unit = static_cast<double>(limits.max - limits.min) / width;
  // Larger integers would mean a very narrow range far away from 0; a double does not hold them
  // exactly.
  constexpr double kMax = 9007199254740992.0;
  const double lowest = std::clamp(std::round(range.min * map.per_unit), -kMax, kMax);
  map.offset = limits.min - static_cast<std::int64_t>(lowest);
  return map;
}

std::int32_t quantize_min_first(float x, const MinFirst& map) noexcept {
  const double steps = std::round(static_cast<double>(x) * map.per_unit);
  const auto offset = static_cast<double>(map.offset);
  const double q = std::isnan(steps) ? offset : steps + offset;
  return static_cast<std::int32_t>(
      std::clamp(q, static_cast<double>(map.limits.min), static_cast<double>(map.limits.max)));
}

float dequantize_min_first(std::int32_t q, const MinFirst& map) noexcept {
  return static_cast<float>(static_cast<double>(q - map.offset) / map.per_unit);
}

}  // namespace qtool
