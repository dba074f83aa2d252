#pragma once

#include <cstdint>

namespace qtool {

/// The integers of weights w at a scale s: n = clamp(round_half_even(w / s), low, high).
struct WeightSteps {
  double inverse;  // 1 / s
  double low;
  double high;
};

struct WeightSumsValues {
  double products = 0.0;  // sum w n
  double squares = 0.0;   // sum n^2
};

struct WeightSumsFunctions {
  /// Sums over `count` finite weights. `low` and `high` are integers of at most 2^50. n is computed
  /// as clamp(w * inverse) and then rounded. Each sum is made of kWeightSumsLanes sums: weight i
  /// goes into sum i % kWeightSumsLanes, in this order, and then the sums are added from the first
  /// to the last. All kernels give the same bits.
  WeightSumsValues (*run)(const float* weights, std::int64_t count, const WeightSteps& steps);
};

/// So many sums fill one AVX-512 register, two AVX2 registers or four SSE2 registers.
inline constexpr std::int64_t kWeightSumsLanes = 8;

#define QTOOL_KERNEL(name) extern const WeightSumsFunctions weight_sums_##name;
#include "kernels/weight_sums/weight_sums.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
