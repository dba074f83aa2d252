#include <cstdint>

#include "kernels/add/contract.h"
#include "kernels/intrinsics.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 16;

void run(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const __m512 ra = _mm512_set1_ps(params.ra);
  const __m512 rb = _mm512_set1_ps(params.rb);
  const __m512i za = _mm512_set1_epi32(params.za);
  const __m512i zb = _mm512_set1_epi32(params.zb);
  const __m512i zy = _mm512_set1_epi32(params.zy);
  const __m512 lowest = _mm512_set1_ps(static_cast<float>(params.low - params.zy));
  const __m512 highest = _mm512_set1_ps(static_cast<float>(params.high - params.zy));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto mask =
        static_cast<__mmask16>(count - i >= kLanes ? 0xffffU : (1U << (count - i)) - 1U);
    const __m512i qa = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, a + i));
    const __m512i qb = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, b + i));
    const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(qa, za)), ra);
    const __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(qb, zb)), rb);
    __m512 value = _mm512_add_ps(x, y);
    value = _mm512_min_ps(_mm512_max_ps(value, lowest), highest);
    const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(value), zy);
    _mm_mask_storeu_epi8(out + i, mask, _mm512_cvtepi32_epi8(q));
  }
}

}  // namespace

constexpr AddFunctions add_avx512vnni = {run};

}  // namespace qtool
