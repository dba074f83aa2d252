#pragma once

#include <cmath>
#include <cstdint>

namespace qtool {

/// clamp(rint(value) + zero_point, low, high), ties to even; NaN gives `low`. The limits are
/// applied before rounding. This gives the same result, because the limits are integers, and it
/// never overflows. For reference functions and portable kernels only: an ISA file (one that is
/// built for a single instruction set) may not include this header.
inline std::uint8_t round_to_u8(float value, std::int32_t zero_point, std::int32_t low,
                                std::int32_t high) {
  const auto lowest = static_cast<float>(low - zero_point);
  const auto highest = static_cast<float>(high - zero_point);
  const float raised = value > lowest ? value : lowest;
  const float clamped = raised < highest ? raised : highest;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(clamped)) + zero_point);
}

}  // namespace qtool
