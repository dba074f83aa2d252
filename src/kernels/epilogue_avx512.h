#pragma once

#include <cstdint>

#include "kernels/curve.h"
#include "kernels/intrinsics.h"
#include "kernels/unroll.h"

// Requantizes: scales integer sums and converts the products to bytes, for files built with
// AVX-512. Everything here is internal to the file that includes it, as in unroll.h.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces)

// Whether a product, or a number that a curve takes, may exceed int32 and must be limited before it
// is rounded. A number below int32 rounds to INT_MIN and saturates correctly anyway.
enum class Products : std::uint8_t { kFit, kMayOverflow };

// Vectors that hold the zero point (16 bits) or a limit (8 bits) in every element.
struct ByteRange {
  __m512i zero_point;
  __m512i low;
  __m512i high;
};

// Forces the compiler to hold `value` in a register here. This is a function, because clang 14 does
// not see a bare asm as a use of a lambda's capture.
QTOOL_INLINE inline void keep(__m512i& value) { asm("" : "+v"(value)); }

QTOOL_INLINE inline ByteRange byte_range(std::int32_t zero_point, std::int32_t low,
                                         std::int32_t high) {
  return {_mm512_set1_epi16(static_cast<short>(zero_point)),
          _mm512_set1_epi8(static_cast<char>(low)), _mm512_set1_epi8(static_cast<char>(high))};
}

QTOOL_INLINE inline __m512 scale(__m512i sums, __m512 multiplier) {
  return _mm512_mul_ps(_mm512_cvtepi32_ps(sums), multiplier);
}

// As scale(), with another multiplier for sums below 0.
QTOOL_INLINE inline __m512 scale(__m512i sums, __m512 multiplier, __m512 negative) {
  return scale(sums, _mm512_mask_mov_ps(multiplier, _mm512_movepi32_mask(sums), negative));
}

template <Products kProducts>
QTOOL_INLINE inline __m512i round_product(__m512 product) {
  if constexpr (kProducts == Products::kMayOverflow) {
    product = _mm512_min_ps(product, _mm512_set1_ps(65536.0F));
  }
  return _mm512_cvtps_epi32(product);
}

// clamp(rounded + zero_point, low, high). Byte 16 l + 4 q + j of the result comes from element
// 4 l + j of rounded[q]: the packs work within 128-bit lanes.
QTOOL_INLINE inline __m512i pack_bytes(const __m512i* rounded, const ByteRange& range) {
  const __m512i first =
      _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), range.zero_point);
  const __m512i second =
      _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), range.zero_point);
  const __m512i bytes = _mm512_packus_epi16(first, second);
  return _mm512_min_epu8(_mm512_max_epu8(bytes, range.low), range.high);
}

// A curve in registers.
struct CurveRegisters {
  __m512i coefficient[Curve::kCoefficients];
  __m512i segment_shift;
  __m512i place_shift;
  __m512i added_units;
  __m512 offset;
};

// The factors of 32 sums in the order of the words that _mm512_packs_epi32() makes of them.
struct FactorRegisters {
  __m512i least;  // limits of y times the fraction
  __m512i most;
  __m512i power;
  __m512i fraction;
};

// `first`, `second`: the factors of 16 channels each.
QTOOL_INLINE inline FactorRegisters factor_registers(const void* first, const void* second) {
  const __m512i a = _mm512_loadu_si512(first);
  const __m512i b = _mm512_loadu_si512(second);
  const __m512i shift = _mm512_packs_epi32(_mm512_and_si512(a, _mm512_set1_epi32(0xffff)),
                                           _mm512_and_si512(b, _mm512_set1_epi32(0xffff)));
  FactorRegisters registers;
  registers.most = _mm512_srlv_epi16(_mm512_set1_epi16(32767), shift);
  registers.least = _mm512_sub_epi16(_mm512_setzero_si512(), registers.most);
  registers.power = _mm512_sllv_epi16(_mm512_set1_epi16(1), shift);
  registers.fraction = _mm512_packs_epi32(_mm512_srai_epi32(a, 16), _mm512_srai_epi32(b, 16));
  return registers;
}

QTOOL_INLINE inline CurveRegisters registers_of(const Curve& curve) {
  CurveRegisters registers;
  unroll<Curve::kCoefficients>([&](auto i) QTOOL_INLINE {
    const auto words = [](const std::uint8_t* bytes) QTOOL_INLINE {
      return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    };
    registers.coefficient[i] =
        _mm512_or_si512(words(curve.low[i]), _mm512_slli_epi16(words(curve.high[i]), 8));
  });
  registers.segment_shift = _mm512_set1_epi16(static_cast<short>(curve.place_bits));
  registers.place_shift = _mm512_set1_epi16(static_cast<short>(16 - curve.place_bits));
  registers.added_units = _mm512_set1_epi16(static_cast<short>(curve.added_units()));
  registers.offset = _mm512_set1_ps(curve.offset);
  return registers;
}

// With multipliers below this, the numbers that a curve takes fit int32: the offset is at most
// 2^15.
constexpr float kMostOnCurve = 0.99F;

// The number that a curve takes for a sum.
QTOOL_INLINE inline __m512 curve_number(__m512i sums, __m512 multiplier,
                                        const CurveRegisters& curve) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), multiplier, curve.offset);
}

// As pack_bytes(), with the bytes that a curve gives for 64 numbers. `first`, `second`: the factors
// of the first and last 32 of them.
template <Products kProducts>
QTOOL_INLINE inline __m512i pack_curve(const __m512* numbers, const CurveRegisters& curve,
                                       const FactorRegisters& first,
                                       const FactorRegisters& second) {
  const auto words = [&](const __m512* pair, const FactorRegisters& factor) QTOOL_INLINE {
    const __m512i p =
        _mm512_packs_epi32(round_product<kProducts>(pair[0]), round_product<kProducts>(pair[1]));
    const __m512i segment = _mm512_srlv_epi16(p, curve.segment_shift);
    const __m512i t =
        _mm512_xor_si512(_mm512_sllv_epi16(p, curve.place_shift), _mm512_set1_epi16(-32768));
    __m512i y = _mm512_permutexvar_epi16(segment, curve.coefficient[Curve::kCoefficients - 1]);
    unroll<Curve::kCoefficients - 1>([&](auto i) QTOOL_INLINE {
      y = _mm512_adds_epi16(
          _mm512_mulhrs_epi16(y, t),
          _mm512_permutexvar_epi16(segment, curve.coefficient[Curve::kCoefficients - 2 - i]));
    });
    y = _mm512_mulhrs_epi16(y, factor.fraction);
    y = _mm512_max_epi16(_mm512_min_epi16(y, factor.most), factor.least);
    const __m512i z = _mm512_mullo_epi16(y, factor.power);
    return _mm512_srai_epi16(_mm512_adds_epi16(z, curve.added_units), 7);
  };
  return _mm512_packus_epi16(words(numbers, first), words(numbers + 2, second));
}

// Reorders the result of pack_bytes(): the 64 elements of rounded[0] to rounded[3] become
// consecutive bytes.
QTOOL_INLINE inline __m512i sort_bytes(__m512i packed) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, packed);
}

// The mask of the first `count` of 64 bytes; of all 64 bytes when `count` is larger.
QTOOL_INLINE inline __mmask64 first_bytes(std::int64_t count) {
  return count >= 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << count);
}

// Stores the part kIndex of a vector, which holds 64 / kParts bytes.
template <unsigned kParts, unsigned kIndex>
QTOOL_INLINE inline void store_part(__m512i bytes, __mmask64 mask, std::uint8_t* out) {
  if constexpr (kParts == 4) {
    _mm_mask_storeu_epi8(out, static_cast<__mmask16>(mask),
                         _mm512_extracti32x4_epi32(bytes, kIndex));
  } else if constexpr (kParts == 2) {
    _mm256_mask_storeu_epi8(out, static_cast<__mmask32>(mask),
                            _mm512_extracti64x4_epi64(bytes, kIndex));
  } else {
    _mm512_mask_storeu_epi8(out, mask, bytes);
  }
}

}  // namespace
}  // namespace qtool
