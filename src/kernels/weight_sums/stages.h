#pragma once

#include <cstdint>

#include "kernels/weight_sums/contract.h"

// What all kernels of the family share.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// Adding and subtracting 1.5 * 2^52 rounds half to even, without calling a function.
constexpr double kRoundWeight = 6755399441055744.0;

/// The sums of each lane.
struct WeightSumsLanes {
  double products[kWeightSumsLanes] = {};
  double squares[kWeightSumsLanes] = {};

  void add(float weight, const WeightSteps& steps, std::int64_t lane) {
    const auto w = static_cast<double>(weight);
    double n = w * steps.inverse;
    n = n < steps.low ? steps.low : n;
    n = n > steps.high ? steps.high : n;
    n = (n + kRoundWeight) - kRoundWeight;
    products[lane] += w * n;
    squares[lane] += n * n;
  }
  /// Adds the weights behind the last whole group of lanes.
  void add_rest(const float* weights, std::int64_t count, const WeightSteps& steps) {
    const std::int64_t rest = count % kWeightSumsLanes;
    for (std::int64_t i = 0; i < rest; ++i) add(weights[count - rest + i], steps, i);
  }
  [[nodiscard]] WeightSumsValues total() const {
    WeightSumsValues sums;
    for (std::int64_t lane = 0; lane < kWeightSumsLanes; ++lane) {
      sums.products += products[lane];
      sums.squares += squares[lane];
    }
    return sums;
  }
};

}  // namespace
}  // namespace qtool
