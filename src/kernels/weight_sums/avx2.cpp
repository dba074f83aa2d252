#include "kernels/intrinsics.h"
#include "kernels/weight_sums/stages.h"

namespace qtool {
namespace {

constexpr std::int64_t kHalf = kWeightSumsLanes / 2;

struct HalfOfLanes {
  __m256d products = _mm256_setzero_pd();
  __m256d squares = _mm256_setzero_pd();
};

WeightSumsValues weight_sums(const float* weights, std::int64_t count, const WeightSteps& steps) {
  const __m256d inverse = _mm256_set1_pd(steps.inverse);
  const __m256d low = _mm256_set1_pd(steps.low);
  const __m256d high = _mm256_set1_pd(steps.high);
  const __m256d round = _mm256_set1_pd(kRoundWeight);
  const auto add = [&](const float* from, HalfOfLanes& sums) {
    const __m256d w = _mm256_cvtps_pd(_mm_loadu_ps(from));
    __m256d n = _mm256_min_pd(high, _mm256_max_pd(low, _mm256_mul_pd(w, inverse)));
    n = _mm256_sub_pd(_mm256_add_pd(n, round), round);
    sums.products = _mm256_add_pd(sums.products, _mm256_mul_pd(w, n));
    sums.squares = _mm256_add_pd(sums.squares, _mm256_mul_pd(n, n));
  };
  HalfOfLanes first;
  HalfOfLanes second;
  for (std::int64_t i = 0; i + kWeightSumsLanes <= count; i += kWeightSumsLanes) {
    add(weights + i, first);
    add(weights + i + kHalf, second);
  }
  WeightSumsLanes lanes;
  _mm256_storeu_pd(lanes.products, first.products);
  _mm256_storeu_pd(lanes.squares, first.squares);
  _mm256_storeu_pd(lanes.products + kHalf, second.products);
  _mm256_storeu_pd(lanes.squares + kHalf, second.squares);
  lanes.add_rest(weights, count, steps);
  return lanes.total();
}

}  // namespace

constexpr WeightSumsFunctions weight_sums_avx2 = {weight_sums};

}  // namespace qtool
