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

// As scale(), with another multiplier for sums below 0.
QTOOL_INLINE inline __m256 scale(__m256i sums, __m256 multiplier, __m256 negative) {
  return scale(sums, _mm256_blendv_ps(multiplier, negative, _mm256_castsi256_ps(sums)));
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

// A curve and the factors of 16 channels, as vectors. The bytes of the coefficients are there once
// in each half; the second of two vectors holds those of the segments from 16 on. The factors are
// in the order of the words that _mm256_packs_epi32() makes of the sums.
struct CurveVectors {
  __m256i low[Curve::kCoefficients][2];
  __m256i high[Curve::kCoefficients][2];
  __m256i least;  // limits of y times the fraction
  __m256i most;
  __m256i power;  // 2^shift
  __m256i fraction;
  __m256i added_units;
  __m256 offset;
  bool has_many_segments;
};

inline CurveVectors curve_vectors(const Curve& curve, const CurveFactor* factors) {
  CurveVectors vectors;
  const auto twice = [](const std::uint8_t* bytes) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  };
  for (unsigned i = 0; i < Curve::kCoefficients; ++i) {
    for (unsigned part = 0; part < 2; ++part) {
      vectors.low[i][part] = twice(curve.low[i] + 16U * part);
      vectors.high[i][part] = twice(curve.high[i] + 16U * part);
    }
  }
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(factors));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(factors + 8));
  const __m256i shift_a = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
  const __m256i shift_b = _mm256_and_si256(b, _mm256_set1_epi32(0xffff));
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i largest = _mm256_set1_epi32(32767);
  vectors.most =
      _mm256_packs_epi32(_mm256_srlv_epi32(largest, shift_a), _mm256_srlv_epi32(largest, shift_b));
  vectors.least = _mm256_sub_epi16(_mm256_setzero_si256(), vectors.most);
  vectors.power =
      _mm256_packs_epi32(_mm256_sllv_epi32(one, shift_a), _mm256_sllv_epi32(one, shift_b));
  vectors.fraction = _mm256_packs_epi32(_mm256_srai_epi32(a, 16), _mm256_srai_epi32(b, 16));
  vectors.added_units = _mm256_set1_epi16(static_cast<short>(curve.added_units()));
  vectors.offset = _mm256_set1_ps(curve.offset);
  vectors.has_many_segments = curve.segments() > 16;
  return vectors;
}

// The number that a curve takes for a sum.
QTOOL_INLINE inline __m256 curve_number(__m256i sums, __m256 multiplier,
                                        const CurveVectors& curve) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), multiplier, curve.offset);
}

// As pack_bytes(), with the bytes that a curve of 16 kParts segments gives for two rows of 16
// numbers. The coefficients of both rows are looked up together: vpshufb gives the low bytes of 32
// coefficients, then the high bytes, and unpacking makes the words of each row.
template <unsigned kParts>
QTOOL_INLINE inline __m256i pack_curve(const __m256* first, const __m256* second,
                                       const CurveVectors& curve) {
  constexpr int kPlaceBits = kParts == 1 ? 12 : 11;
  const auto position = [](const __m256& number) QTOOL_INLINE {
    return _mm256_cvtps_epi32(_mm256_min_ps(number, _mm256_set1_ps(65536.0F)));
  };
  const __m256i p[] = {_mm256_packs_epi32(position(first[0]), position(first[1])),
                       _mm256_packs_epi32(position(second[0]), position(second[1]))};
  const auto segments = [&](unsigned row)
                            QTOOL_INLINE { return _mm256_srli_epi16(p[row], kPlaceBits); };
  const __m256i segment = _mm256_packus_epi16(segments(0), segments(1));
  // The second part belongs to negative positions. vpshufb reads the lowest four bits of an index.
  const __m256i in_second = _mm256_packs_epi16(p[0], p[1]);
  const __m256i index = _mm256_and_si256(segment, _mm256_set1_epi8(15));
  const auto look_up = [&](const __m256i* parts) QTOOL_INLINE {
    if constexpr (kParts == 2) {
      return _mm256_blendv_epi8(_mm256_shuffle_epi8(parts[0], index),
                                _mm256_shuffle_epi8(parts[1], index), in_second);
    } else {
      return _mm256_shuffle_epi8(parts[0], segment);
    }
  };
  const auto place = [&](unsigned row) QTOOL_INLINE {
    return _mm256_xor_si256(_mm256_slli_epi16(p[row], 16 - kPlaceBits), _mm256_set1_epi16(-32768));
  };
  const __m256i t[] = {place(0), place(1)};
  __m256i y[2];
  unroll<Curve::kCoefficients>([&](auto i) QTOOL_INLINE {
    constexpr unsigned kAt = Curve::kCoefficients - 1 - i;
    const __m256i low = look_up(curve.low[kAt]);
    const __m256i high = look_up(curve.high[kAt]);
    const __m256i coefficient[] = {_mm256_unpacklo_epi8(low, high),
                                   _mm256_unpackhi_epi8(low, high)};
    unroll<2>([&](auto row) QTOOL_INLINE {
      y[row] = i == 0 ? coefficient[row]
                      : _mm256_adds_epi16(_mm256_mulhrs_epi16(y[row], t[row]), coefficient[row]);
    });
  });
  const auto bytes = [&](unsigned row) QTOOL_INLINE {
    const __m256i product = _mm256_mulhrs_epi16(y[row], curve.fraction);
    const __m256i limited = _mm256_max_epi16(_mm256_min_epi16(product, curve.most), curve.least);
    const __m256i z = _mm256_mullo_epi16(limited, curve.power);
    return _mm256_srai_epi16(_mm256_adds_epi16(z, curve.added_units), 7);
  };
  return sort_bytes(_mm256_packus_epi16(bytes(0), bytes(1)));
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
QTOOL_INLINE inline auto packs_onto(const CurveVectors& curve) {
  return [&curve](const __m256* first, const __m256* second)
             QTOOL_INLINE { return pack_curve<kParts>(first, second, curve); };
}

// Stores the first `count` bytes of each of `rows` rows of 16 sums. `number(sums, half)`: what
// `pack` takes for eight sums, of the lower or upper half of the channels.
template <typename Number, typename Pack>
QTOOL_INLINE inline void store_sums_as(const Number& number, const Pack& pack, const __m256i* sums,
                                       unsigned rows, std::int64_t count, std::uint8_t* to,
                                       std::int64_t stride) {
  __m256 numbers[4];
  const auto set_numbers = [&](unsigned vectors) QTOOL_INLINE {
    for (unsigned i = 0; i < vectors; ++i) numbers[i] = number(sums[i], i % 2);
  };
  for (; rows > 1; rows -= 2, sums += 4, to += 2 * stride) {
    set_numbers(4);
    store_rows<2>(numbers, pack, count, to, stride);
  }
  if (rows == 0) return;
  set_numbers(2);
  store_rows<1>(numbers, pack, count, to, stride);
}

// Stores the first `count` bytes of each of `rows` rows of 16 sums, as bytes of a curve.
QTOOL_INLINE inline void store_on_curve(const CurveVectors& curve, const __m256* multiplier,
                                        const __m256i* sums, unsigned rows, std::int64_t count,
                                        std::uint8_t* to, std::int64_t stride) {
  const auto number = [&](__m256i eight, unsigned half)
                          QTOOL_INLINE { return curve_number(eight, multiplier[half], curve); };
  if (curve.has_many_segments) {
    store_sums_as(number, packs_onto<2>(curve), sums, rows, count, to, stride);
  } else {
    store_sums_as(number, packs_onto<1>(curve), sums, rows, count, to, stride);
  }
}

}  // namespace
}  // namespace qtool
