#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace qtool {

/// `base`, or `base` followed by a number: a name that is not taken. Numbers are given out in
/// order, so doubling and bisection find a free number quickly even if many are taken.
template <typename IsTaken>
std::string free_name(std::string_view base, const IsTaken& is_taken) {
  std::string name(base);
  if (!is_taken(name)) return name;
  const auto numbered = [&](std::int64_t n) { return to_text(base, "_", n); };
  std::int64_t high = 1;
  while (is_taken(numbered(high))) high *= 2;
  std::int64_t low = high / 2;  // taken, or 0
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_taken(numbered(middle)) ? low : high) = middle;
  }
  return numbered(high);
}

}  // namespace qtool
