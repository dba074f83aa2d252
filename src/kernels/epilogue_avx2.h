#pragma once

#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Converts float products to bytes, 16 at a time, for files built with AVX2. Everything here is
// internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// Vectors that hold the zero point (16 bits) or a limit (8 bits) in every element.
struct ByteRange {
  __m256i zero_point;
  __m128i low;
  __m128i high;
};

QTOOL_INLINE inline ByteRange byte_range(std::int32_t zero_point, std::int32_t low,
                                         std::int32_t high) {
  return {_mm256_set1_epi16(static_cast<short>(zero_point)), _mm_set1_epi8(static_cast<char>(low)),
          _mm_set1_epi8(static_cast<char>(high))};
}

// clamp(rint(product) + zero_point, low, high) of 16 products. Only the upper limit is applied
// before rounding: a product below int32 rounds to INT_MIN and then saturates.
QTOOL_INLINE inline __m128i pack_bytes(__m256 first, __m256 second, const ByteRange& range) {
  const __m256 limit = _mm256_set1_ps(65536.0F);
  const __m256i low_half = _mm256_cvtps_epi32(_mm256_min_ps(first, limit));
  const __m256i high_half = _mm256_cvtps_epi32(_mm256_min_ps(second, limit));
  const __m256i words = _mm256_adds_epi16(
      _mm256_permute4x64_epi64(_mm256_packs_epi32(low_half, high_half), 0xD8), range.zero_point);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  return _mm_min_epu8(_mm_max_epu8(bytes, range.low), range.high);
}

// Loads the first `count` of 16 bytes; the other bytes of the result are zero.
QTOOL_INLINE inline __m128i load_bytes(const std::uint8_t* from, std::int64_t count) {
  if (count >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  alignas(16) std::uint8_t part[16] = {};
  for (std::int64_t i = 0; i < count; ++i) part[i] = from[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(part));
}

QTOOL_INLINE inline void store_bytes(__m128i bytes, std::int64_t count, std::uint8_t* to) {
  if (count >= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    return;
  }
  alignas(16) std::uint8_t part[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(part), bytes);
  for (std::int64_t i = 0; i < count; ++i) to[i] = part[i];
}

}  // namespace
}  // namespace qtool
