#pragma once

#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Requantizes: scales integer sums and converts the products to bytes, for files built with AVX2.
// Everything here is internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// Vectors that hold the zero point (16 bits) or a limit (8 bits) in every element.
struct ByteRange {
  __m256i zero_point;
  __m256i low;
  __m256i high;
};

QTOOL_INLINE inline ByteRange byte_range(std::int32_t zero_point, std::int32_t low,
                                         std::int32_t high) {
  return {_mm256_set1_epi16(static_cast<short>(zero_point)),
          _mm256_set1_epi8(static_cast<char>(low)), _mm256_set1_epi8(static_cast<char>(high))};
}

QTOOL_INLINE inline __m256 scale(__m256i sums, __m256 multiplier) {
  return _mm256_mul_ps(_mm256_cvtepi32_ps(sums), multiplier);
}

// clamp(rint(product) + zero_point, low, high) of two rows of 16 products: the first row's bytes
// are in the lower half. Only the upper limit is applied before rounding: a product below int32
// rounds to INT_MIN and then saturates.
QTOOL_INLINE inline __m256i pack_bytes(const __m256* first, const __m256* second,
                                       const ByteRange& range) {
  const __m256 limit = _mm256_set1_ps(65536.0F);
  const auto words = [&](const __m256* row) QTOOL_INLINE {
    const __m256i low = _mm256_cvtps_epi32(_mm256_min_ps(row[0], limit));
    const __m256i high = _mm256_cvtps_epi32(_mm256_min_ps(row[1], limit));
    return _mm256_adds_epi16(_mm256_packs_epi32(low, high), range.zero_point);
  };
  // The packs work within 128-bit lanes, so groups of four bytes are in the order 0, 2 of each row
  // in the lower half, and 1, 3 in the upper half.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes =
      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words(first), words(second)), order);
  return _mm256_min_epu8(_mm256_max_epu8(bytes, range.low), range.high);
}

// Loads the first `count` of 16 bytes; the other bytes of the result are zero.
QTOOL_INLINE inline __m128i load_bytes(const std::uint8_t* from, std::int64_t count) {
  if (count >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  unsigned bits = 0;
  const auto append = [&](auto part) QTOOL_INLINE {
    __builtin_memcpy(&part, from, sizeof part);
    from += sizeof part;
    tail |= static_cast<std::uint64_t>(part) << bits;
    bits += 8 * sizeof part;
  };
  if ((count & 8) != 0) {
    __builtin_memcpy(&head, from, 8);
    from += 8;
  }
  if ((count & 4) != 0) append(std::uint32_t{});
  if ((count & 2) != 0) append(std::uint16_t{});
  if ((count & 1) != 0) append(std::uint8_t{});
  const bool has_head = (count & 8) != 0;
  return _mm_set_epi64x(static_cast<long long>(has_head ? tail : 0),
                        static_cast<long long>(has_head ? head : tail));
}

// Stores the first `count` of 16 bytes.
QTOOL_INLINE inline void store_bytes(__m128i bytes, std::int64_t count, std::uint8_t* to) {
  if (count >= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    return;
  }
  if ((count & 8) != 0) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    bytes = _mm_srli_si128(bytes, 8);
    to += 8;
  }
  auto left = static_cast<std::uint64_t>(_mm_cvtsi128_si64(bytes));
  for (unsigned size = 4; size > 0; size /= 2) {
    if ((count & size) == 0) continue;
    __builtin_memcpy(to, &left, size);
    left >>= 8 * size;
    to += size;
  }
}

// Converts kRows rows of 16 products to bytes and stores the first `count` of each row.
template <unsigned kRows>
QTOOL_INLINE inline void store_rows(const __m256* products, const ByteRange& range,
                                    std::int64_t count, std::uint8_t* to, std::int64_t stride) {
  unroll<(kRows + 1) / 2>([&](auto pair) QTOOL_INLINE {
    constexpr unsigned kFirst = 2 * pair;
    constexpr unsigned kSecond = kFirst + 1 < kRows ? kFirst + 1 : kFirst;
    const __m256i bytes = pack_bytes(products + 2 * kFirst, products + 2 * kSecond, range);
    store_bytes(_mm256_castsi256_si128(bytes), count, to + kFirst * stride);
    if constexpr (kSecond > kFirst) {
      store_bytes(_mm256_extracti128_si256(bytes, 1), count, to + kSecond * stride);
    }
  });
}

}  // namespace
}  // namespace qtool
