#pragma once

#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Combines two quantized tensors element by element, for files built with AVX2. Everything here is
// internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// out = clamp(rint(combine(a - za, b - zb)) + zy, low, high), ties to even. `combine` turns eight
// integers of each operand into eight floats.
template <typename Params, typename Combine>
QTOOL_INLINE inline void pairwise(const Params& params, const std::uint8_t* a,
                                  const std::uint8_t* b, std::uint8_t* out, std::int64_t count,
                                  const Combine& combine) {
  constexpr std::int64_t kLanes = 8;
  const __m256i za = _mm256_set1_epi32(params.za);
  const __m256i zb = _mm256_set1_epi32(params.zb);
  const __m256i zy = _mm256_set1_epi32(params.zy);
  const __m256 lowest = _mm256_set1_ps(static_cast<float>(params.low - params.zy));
  const __m256 highest = _mm256_set1_ps(static_cast<float>(params.high - params.zy));
  const auto eight = [&](const std::uint8_t* p, const std::uint8_t* q, std::uint8_t* to) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m128i y = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q));
    __m256 value = combine(_mm256_sub_epi32(_mm256_cvtepu8_epi32(x), za),
                           _mm256_sub_epi32(_mm256_cvtepu8_epi32(y), zb));
    value = _mm256_min_ps(_mm256_max_ps(value, lowest), highest);
    const __m256i sum = _mm256_add_epi32(_mm256_cvtps_epi32(value), zy);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) eight(a + i, b + i, out + i);
  if (i == count) return;
  std::uint8_t last_a[kLanes] = {};
  std::uint8_t last_b[kLanes] = {};
  for (std::int64_t k = i; k < count; ++k) {
    last_a[k - i] = a[k];
    last_b[k - i] = b[k];
  }
  eight(last_a, last_b, last_a);
  for (std::int64_t k = i; k < count; ++k) out[k] = last_a[k - i];
}

}  // namespace
}  // namespace qtool
