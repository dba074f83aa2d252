#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace qtool {

/// The least and the largest of some stored weights, and their sum. Zeros for no weights.
struct WeightExtremes {
  std::int32_t least = 0;
  std::int32_t most = 0;
  std::int64_t sum = 0;

  /// The largest magnitude of a weight minus `zero_point`.
  [[nodiscard]] std::int64_t largest(std::int32_t zero_point) const {
    return std::max(std::int64_t{most} - zero_point, std::int64_t{zero_point} - least);
  }
};

/// Cost: one pass, which the compiler vectorizes.
inline WeightExtremes extremes_of(std::span<const std::int8_t> weights) {
  constexpr std::size_t kBlock = 65536;  // whose sum fits into int32
  if (weights.empty()) return {};
  std::int8_t least = weights.front();
  std::int8_t most = weights.front();
  std::int64_t sum = 0;
  while (!weights.empty()) {
    const auto block = weights.first(std::min(kBlock, weights.size()));
    std::int32_t of_block = 0;
    for (const std::int8_t weight : block) {
      least = std::min(least, weight);
      most = std::max(most, weight);
      of_block += weight;
    }
    sum += of_block;
    weights = weights.subspan(block.size());
  }
  return {least, most, sum};
}

}  // namespace qtool
