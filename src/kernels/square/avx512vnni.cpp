#include "kernels/pairwise_avx512.h"
#include "kernels/square/contract.h"

namespace qtool {
namespace {

void run(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
         std::uint8_t* out, std::int64_t count) {
  const __m512 sa = _mm512_set1_ps(params.sa);
  const __m512 sb = _mm512_set1_ps(params.sb);
  const __m512 sy = _mm512_set1_ps(params.sy);
  pairwise(params, a, b, out, count, [&](__m512i x, __m512i y) {
    const __m512 difference = _mm512_sub_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(x), sa),
                                            _mm512_mul_ps(_mm512_cvtepi32_ps(y), sb));
    return _mm512_div_ps(_mm512_mul_ps(difference, difference), sy);
  });
}

}  // namespace

constexpr SquareFunctions square_avx512vnni = {run};

}  // namespace qtool
