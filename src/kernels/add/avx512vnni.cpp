#include "kernels/add/contract.h"
#include "kernels/pairwise_avx512.h"

namespace qtool {
namespace {

void run(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const __m512 ra = _mm512_set1_ps(params.ra);
  const __m512 rb = _mm512_set1_ps(params.rb);
  pairwise(params, a, b, out, count, [&](__m512i x, __m512i y) {
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(x), ra),
                         _mm512_mul_ps(_mm512_cvtepi32_ps(y), rb));
  });
}

}  // namespace

constexpr AddFunctions add_avx512vnni = {run};

}  // namespace qtool
