#pragma once

#include <cstdint>

#include "kernels/curve.h"
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

// Reorders the bytes of two rows that were packed from words: the packs work within 128-bit lanes,
// so groups of four bytes are in the order 0, 2 of each row in the lower half, and 1, 3 in the
// upper half.
QTOOL_INLINE inline __m256i sort_bytes(__m256i packed) {
  return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
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
  const __m256i bytes = sort_bytes(_mm256_packus_epi16(words(first), words(second)));
  return _mm256_min_epu8(_mm256_max_epu8(bytes, range.low), range.high);
}

// A curve in registers: the bytes of its coefficients, once in each half. kParts: sixteens of
// segments.
template <unsigned kParts>
struct CurveRegisters {
  __m256i low[Curve::kCoefficients][kParts];
  __m256i high[Curve::kCoefficients][kParts];
  __m256 offset;
};

template <unsigned kParts>
QTOOL_INLINE inline CurveRegisters<kParts> registers_of(const Curve& curve) {
  CurveRegisters<kParts> registers;
  const auto twice = [](const std::uint8_t* bytes) QTOOL_INLINE {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  };
  unroll<Curve::kCoefficients>([&](auto i) QTOOL_INLINE {
    unroll<kParts>([&](auto part) QTOOL_INLINE {
      registers.low[i][part] = twice(curve.low[i] + 16U * part);
      registers.high[i][part] = twice(curve.high[i] + 16U * part);
    });
  });
  registers.offset = _mm256_set1_ps(curve.offset);
  return registers;
}

// The number that a curve takes for a sum.
template <unsigned kParts>
QTOOL_INLINE inline __m256 curve_number(__m256i sums, __m256 multiplier,
                                        const CurveRegisters<kParts>& curve) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), multiplier, curve.offset);
}

// As pack_bytes(), with the bytes that a curve gives for two rows of 16 numbers.
template <unsigned kParts>
QTOOL_INLINE inline __m256i pack_curve(const __m256* first, const __m256* second,
                                       const CurveRegisters<kParts>& curve) {
  constexpr int kPlaceBits = kParts == 1 ? 12 : 11;
  const auto position = [](const __m256& number) QTOOL_INLINE {
    return _mm256_cvtps_epi32(_mm256_min_ps(number, _mm256_set1_ps(65536.0F)));
  };
  const auto words = [&](const __m256* row) QTOOL_INLINE {
    const __m256i p = _mm256_packs_epi32(position(row[0]), position(row[1]));
    const __m256i segment = _mm256_srli_epi16(p, kPlaceBits);
    // vpshufb gives 0 where the highest bit of an index is set, and looks at the lowest four bits
    // else.
    const __m256i low_index = _mm256_or_si256(segment, _mm256_set1_epi16(-32768));
    const __m256i high_index =
        _mm256_or_si256(_mm256_slli_epi16(segment, 8), _mm256_set1_epi16(0x80));
    const auto of_part = [&](unsigned i, unsigned part) QTOOL_INLINE {
      return _mm256_or_si256(_mm256_shuffle_epi8(curve.low[i][part], low_index),
                             _mm256_shuffle_epi8(curve.high[i][part], high_index));
    };
    const auto coefficient = [&](unsigned i) QTOOL_INLINE {
      // The second part belongs to negative positions.
      if constexpr (kParts == 2) {
        return _mm256_blendv_epi8(of_part(i, 0), of_part(i, 1), _mm256_srai_epi16(p, 15));
      } else {
        return of_part(i, 0);
      }
    };
    const __m256i t =
        _mm256_xor_si256(_mm256_slli_epi16(p, 16 - kPlaceBits), _mm256_set1_epi16(-32768));
    __m256i y = coefficient(Curve::kCoefficients - 1);
    unroll<Curve::kCoefficients - 1>([&](auto i) QTOOL_INLINE {
      y = _mm256_adds_epi16(_mm256_mulhrs_epi16(y, t), coefficient(Curve::kCoefficients - 2 - i));
    });
    return _mm256_srai_epi16(y, 7);
  };
  return sort_bytes(_mm256_packus_epi16(words(first), words(second)));
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
// `pack(first, second)`: the bytes of two rows, as from pack_bytes().
template <unsigned kRows, typename Pack>
QTOOL_INLINE inline void store_rows(const __m256* products, const Pack& pack, std::int64_t count,
                                    std::uint8_t* to, std::int64_t stride) {
  unroll<(kRows + 1) / 2>([&](auto pair) QTOOL_INLINE {
    constexpr unsigned kFirst = 2 * pair;
    constexpr unsigned kSecond = kFirst + 1 < kRows ? kFirst + 1 : kFirst;
    const __m256i bytes = pack(products + 2 * kFirst, products + 2 * kSecond);
    store_bytes(_mm256_castsi256_si128(bytes), count, to + kFirst * stride);
    if constexpr (kSecond > kFirst) {
      store_bytes(_mm256_extracti128_si256(bytes, 1), count, to + kSecond * stride);
    }
  });
}

// For store_rows(): bytes within a range, or bytes of a curve.
QTOOL_INLINE inline auto packs_into(const ByteRange& range) {
  return [&range](const __m256* first, const __m256* second)
             QTOOL_INLINE { return pack_bytes(first, second, range); };
}
template <unsigned kParts>
QTOOL_INLINE inline auto packs_onto(const CurveRegisters<kParts>& curve) {
  return [&curve](const __m256* first, const __m256* second)
             QTOOL_INLINE { return pack_curve(first, second, curve); };
}

template <unsigned kParts>
QTOOL_INLINE inline void store_on_parts(const Curve& curve, const __m256* multiplier,
                                        const __m256i* sums, unsigned rows, std::int64_t count,
                                        std::uint8_t* to, std::int64_t stride) {
  const CurveRegisters<kParts> registers = registers_of<kParts>(curve);
  __m256 numbers[4];
  const auto set_numbers = [&](unsigned vectors) QTOOL_INLINE {
    for (unsigned i = 0; i < vectors; ++i) {
      numbers[i] = curve_number(sums[i], multiplier[i % 2], registers);
    }
  };
  for (; rows > 1; rows -= 2, sums += 4, to += 2 * stride) {
    set_numbers(4);
    store_rows<2>(numbers, packs_onto(registers), count, to, stride);
  }
  if (rows == 0) return;
  set_numbers(2);
  store_rows<1>(numbers, packs_onto(registers), count, to, stride);
}

// Stores the first `count` bytes of each of `rows` rows of 16 sums, as bytes of a curve.
QTOOL_INLINE inline void store_on_curve(const Curve& curve, const __m256* multiplier,
                                        const __m256i* sums, unsigned rows, std::int64_t count,
                                        std::uint8_t* to, std::int64_t stride) {
  if (curve.segments() > 16) {
    store_on_parts<2>(curve, multiplier, sums, rows, count, to, stride);
  } else {
    store_on_parts<1>(curve, multiplier, sums, rows, count, to, stride);
  }
}

}  // namespace
}  // namespace qtool
