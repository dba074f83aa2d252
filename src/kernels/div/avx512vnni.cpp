#include "kernels/div/contract.h"
#include "kernels/pairwise_avx512.h"

namespace qtool {
namespace {

void run(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
         std::uint8_t* out, std::int64_t count) {
  const __m512 sa = _mm512_set1_ps(params.sa);
  const __m512 sb = _mm512_set1_ps(params.sb);
  const __m512 sy = _mm512_set1_ps(params.sy);
  pairwise(params, a, b, out, count, [&](__m512i x, __m512i y) {
    const __m512 dividend = _mm512_mul_ps(_mm512_cvtepi32_ps(x), sa);
    const __m512 divisor = _mm512_mul_ps(_mm512_cvtepi32_ps(y), sb);
    const __m512 quotient = _mm512_div_ps(_mm512_div_ps(dividend, divisor), sy);
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(quotient, quotient, _CMP_ORD_Q), quotient);
  });
}

}  // namespace

constexpr DivFunctions div_avx512vnni = {run};

}  // namespace qtool
