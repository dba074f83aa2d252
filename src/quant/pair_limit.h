#pragma once

namespace qtool {

/// Whether two weights of one sign are together larger than `limit`, which must be at least the
/// magnitude of each. Some instructions add two products in 16 bits, and such a sum then saturates
/// for the largest activations.
template <typename Number>
constexpr bool exceeds_pair_limit(Number a, Number b, Number limit) {
  return a + b > limit || -(a + b) > limit;  // within the limit if the signs differ
}

}  // namespace qtool
