#include "kernels/mul/contract.h"
#include "kernels/pairwise_avx2.h"

namespace qtool {
namespace {

void run(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const __m256 m = _mm256_set1_ps(params.m);
  pairwise(params, a, b, out, count, [&](__m256i x, __m256i y) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_mullo_epi32(x, y)), m);
  });
}

}  // namespace

constexpr MulFunctions mul_avx2 = {run};

}  // namespace qtool
