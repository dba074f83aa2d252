#include "kernels/add/contract.h"
#include "kernels/pairwise_avx2.h"

namespace qtool {
namespace {

void run(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const __m256 ra = _mm256_set1_ps(params.ra);
  const __m256 rb = _mm256_set1_ps(params.rb);
  pairwise(params, a, b, out, count, [&](__m256i x, __m256i y) {
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), ra),
                         _mm256_mul_ps(_mm256_cvtepi32_ps(y), rb));
  });
}

}  // namespace

constexpr AddFunctions add_avx2 = {run};

}  // namespace qtool
