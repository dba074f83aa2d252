#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/weight_sums/weight_sums.h"

namespace qtool {

WeightSumsValues reference_weight_sums(std::span<const float> weights, const WeightSteps& steps) {
  std::array<WeightSumsValues, kWeightSumsLanes> lanes;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double w = static_cast<double>(weights[i]);
    const double n = std::nearbyint(std::clamp(w * steps.inverse, steps.low, steps.high));
    lanes[i % lanes.size()].products += w * n;
    lanes[i % lanes.size()].squares += n * n;
  }
  WeightSumsValues sums;
  for (const WeightSumsValues& lane : lanes) {
    sums.products += lane.products;
    sums.squares += lane.squares;
  }
  return sums;
}

}  // namespace qtool
