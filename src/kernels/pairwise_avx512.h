#pragma once

#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Combines two quantized tensors element by element, for files built with AVX-512. Everything here
// is internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// out = clamp(rint(combine(a - za, b - zb)) + zy, low, high), ties to even. `combine` turns 16
// integers of each operand into 16 floats.
template <typename Params, typename Combine>
QTOOL_INLINE inline void pairwise(const Params& params, const std::uint8_t* a,
                                  const std::uint8_t* b, std::uint8_t* out, std::int64_t count,
                                  const Combine& combine) {
  constexpr std::int64_t kLanes = 16;
  const __m512i za = _mm512_set1_epi32(params.za);
  const __m512i zb = _mm512_set1_epi32(params.zb);
  const __m512i zy = _mm512_set1_epi32(params.zy);
  const __m512 lowest = _mm512_set1_ps(static_cast<float>(params.low - params.zy));
  const __m512 highest = _mm512_set1_ps(static_cast<float>(params.high - params.zy));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto mask =
        static_cast<__mmask16>(count - i >= kLanes ? 0xffffU : (1U << (count - i)) - 1U);
    const __m512i x = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, a + i));
    const __m512i y = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, b + i));
    __m512 value = combine(_mm512_sub_epi32(x, za), _mm512_sub_epi32(y, zb));
    value = _mm512_min_ps(_mm512_max_ps(value, lowest), highest);
    const __m512i sum = _mm512_add_epi32(_mm512_cvtps_epi32(value), zy);
    _mm_mask_storeu_epi8(out + i, mask, _mm512_cvtepi32_epi8(sum));
  }
}

}  // namespace
}  // namespace qtool
