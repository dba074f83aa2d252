#pragma once

namespace qtool {

/// Whether two integers of one sign are together larger than `limit`. One integer alone never
/// counts. Some instructions add two products in 16 bits, and such a sum then saturates for the
/// largest activations.
template <typename Number>
constexpr bool exceeds_pair_limit(Number a, Number b, Number limit) {
  return (a > Number{0} && b > Number{0} && a + b > limit) ||
         (a < Number{0} && b < Number{0} && -(a + b) > limit);
}

}  // namespace qtool
