#pragma once

#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Combines two quantized tensors element by element, for files built with AVX2. Everything here is
// internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// out = clamp(rint(combine(a - za, b - zb)) + zy, low, high), ties to even. `combine` turns eight
// integers of each operand into eight floats. The clamp is before the rounding, so that nothing
// overflows.
template <typename Params, typename Combine>
QTOOL_INLINE inline void pairwise(const Params& params, const std::uint8_t* a,
                                  const std::uint8_t* b, std::uint8_t* out, std::int64_t count,
                                  const Combine& combine) {
  constexpr std::int64_t kBytes = 16;
  const __m256i za = _mm256_set1_epi32(params.za);
  const __m256i zb = _mm256_set1_epi32(params.zb);
  const __m128i zy = _mm_set1_epi16(static_cast<short>(params.zy));
  const __m256 lowest = _mm256_set1_ps(static_cast<float>(params.low - params.zy));
  const __m256 highest = _mm256_set1_ps(static_cast<float>(params.high - params.zy));
  const auto rounded = [&](__m128i x, __m128i y) QTOOL_INLINE {
    const __m256 value = combine(_mm256_sub_epi32(_mm256_cvtepu8_epi32(x), za),
                                 _mm256_sub_epi32(_mm256_cvtepu8_epi32(y), zb));
    const __m256i q = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(value, lowest), highest));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
    return _mm_add_epi16(words, zy);
  };
  const auto sixteen = [&](__m128i x, __m128i y) QTOOL_INLINE {
    return _mm_packus_epi16(rounded(x, y), rounded(_mm_srli_si128(x, 8), _mm_srli_si128(y, 8)));
  };
  std::int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    const __m128i bytes = sixteen(load_bytes(a + i, kBytes), load_bytes(b + i, kBytes));
    store_bytes(bytes, kBytes, out + i);
  }
  if (i == count) return;
  const std::int64_t left = count - i;
  store_bytes(sixteen(load_bytes(a + i, left), load_bytes(b + i, left)), left, out + i);
}

}  // namespace
}  // namespace qtool
