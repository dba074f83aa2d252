#include "kernels/pairwise_avx2.h"
#include "kernels/square/contract.h"

namespace qtool {
namespace {

void run(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
         std::uint8_t* out, std::int64_t count) {
  const __m256 sa = _mm256_set1_ps(params.sa);
  const __m256 sb = _mm256_set1_ps(params.sb);
  const __m256 sy = _mm256_set1_ps(params.sy);
  pairwise(params, a, b, out, count, [&](__m256i x, __m256i y) {
    const __m256 difference = _mm256_sub_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), sa),
                                            _mm256_mul_ps(_mm256_cvtepi32_ps(y), sb));
    return _mm256_div_ps(_mm256_mul_ps(difference, difference), sy);
  });
}

}  // namespace

constexpr SquareFunctions square_avx2 = {run};

}  // namespace qtool
