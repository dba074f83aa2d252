#include "kernels/mul/contract.h"
#include "kernels/pairwise_avx512.h"

namespace qtool {
namespace {

void run(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const __m512 m = _mm512_set1_ps(params.m);
  pairwise(params, a, b, out, count, [&](__m512i x, __m512i y) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_mullo_epi32(x, y)), m);
  });
}

}  // namespace

constexpr MulFunctions mul_avx512vnni = {run};

}  // namespace qtool
