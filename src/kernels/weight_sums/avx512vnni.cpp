#include "kernels/intrinsics.h"
#include "kernels/weight_sums/stages.h"

namespace qtool {
namespace {

WeightSumsValues weight_sums(const float* weights, std::int64_t count, const WeightSteps& steps) {
  const __m512d inverse = _mm512_set1_pd(steps.inverse);
  const __m512d low = _mm512_set1_pd(steps.low);
  const __m512d high = _mm512_set1_pd(steps.high);
  const __m512d round = _mm512_set1_pd(kRoundWeight);
  __m512d products = _mm512_setzero_pd();
  __m512d squares = _mm512_setzero_pd();
  for (std::int64_t i = 0; i + kWeightSumsLanes <= count; i += kWeightSumsLanes) {
    const __m512d w = _mm512_cvtps_pd(_mm256_loadu_ps(weights + i));
    __m512d n = _mm512_min_pd(high, _mm512_max_pd(low, _mm512_mul_pd(w, inverse)));
    n = _mm512_sub_pd(_mm512_add_pd(n, round), round);
    products = _mm512_add_pd(products, _mm512_mul_pd(w, n));
    squares = _mm512_add_pd(squares, _mm512_mul_pd(n, n));
  }
  WeightSumsLanes lanes;
  _mm512_storeu_pd(lanes.products, products);
  _mm512_storeu_pd(lanes.squares, squares);
  lanes.add_rest(weights, count, steps);
  return lanes.total();
}

}  // namespace

constexpr WeightSumsFunctions weight_sums_avx512vnni = {weight_sums};

}  // namespace qtool
