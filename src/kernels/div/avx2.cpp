#include "kernels/div/contract.h"
#include "kernels/pairwise_avx2.h"

namespace qtool {
namespace {

void run(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
         std::uint8_t* out, std::int64_t count) {
  const __m256 sa = _mm256_set1_ps(params.sa);
  const __m256 sb = _mm256_set1_ps(params.sb);
  const __m256 sy = _mm256_set1_ps(params.sy);
  pairwise(params, a, b, out, count, [&](__m256i x, __m256i y) {
    const __m256 dividend = _mm256_mul_ps(_mm256_cvtepi32_ps(x), sa);
    const __m256 divisor = _mm256_mul_ps(_mm256_cvtepi32_ps(y), sb);
    const __m256 quotient = _mm256_div_ps(_mm256_div_ps(dividend, divisor), sy);
    return _mm256_and_ps(quotient, _mm256_cmp_ps(quotient, quotient, _CMP_ORD_Q));
  });
}

}  // namespace

constexpr DivFunctions div_avx2 = {run};

}  // namespace qtool
