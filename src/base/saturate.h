#pragma once

#include <cstdint>
#include <limits>

namespace qtool {

/// a + b and a * b of counts, which are never negative. A result that does not fit becomes the
/// largest int64. This is needed because files state extents and loop counts whose product may not
/// fit.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

}  // namespace qtool
