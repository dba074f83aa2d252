#pragma once

#include <string_view>
#include <vector>

namespace qtool {

/// The targets that ops_by_target.inc names, one bit each.
enum class TargetBit : unsigned {
  cpu = 1U << 0U,
  openvino = 1U << 1U,
  qtool = 1U << 2U,
  tensorrt = 1U << 3U,
  tflite_like = 1U << 4U,
};
constexpr TargetBit operator|(TargetBit a, TargetBit b) noexcept {
  return static_cast<TargetBit>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// The operators that at least one of `targets` runs on integers, sorted by name.
std::vector<std::string_view> ops_of(TargetBit targets);

}  // namespace qtool
