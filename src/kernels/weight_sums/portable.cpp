#include "kernels/weight_sums/stages.h"

namespace qtool {
namespace {

WeightSumsValues weight_sums(const float* weights, std::int64_t count, const WeightSteps& steps) {
  WeightSumsLanes lanes;
  for (std::int64_t i = 0; i + kWeightSumsLanes <= count; i += kWeightSumsLanes) {
    for (std::int64_t lane = 0; lane < kWeightSumsLanes; ++lane) {
      lanes.add(weights[i + lane], steps, lane);
    }
  }
  lanes.add_rest(weights, count, steps);
  return lanes.total();
}

}  // namespace

constexpr WeightSumsFunctions weight_sums_portable = {weight_sums};

}  // namespace qtool
