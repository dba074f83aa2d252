#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/quantize/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 8;

struct Rounding {
  __m256 scale;
  __m256 lowest;
  __m256 highest;
  __m256i zero_point;
};

Rounding rounding_of(const QuantizeParams& affine) {
  return {_mm256_set1_ps(affine.scale),
          _mm256_set1_ps(static_cast<float>(affine.low - affine.zero_point)),
          _mm256_set1_ps(static_cast<float>(affine.high - affine.zero_point)),
          _mm256_set1_epi32(affine.zero_point)};
}

// Returns eight bytes in the lower half of the register.
__m128i quantize_lanes(const Rounding& r, __m256 x) {
  const __m256 scaled = _mm256_div_ps(x, r.scale);
  const __m256 numbers = _mm256_cmp_ps(scaled, scaled, _CMP_ORD_Q);
  const __m256 clamped = _mm256_min_ps(_mm256_max_ps(scaled, r.lowest), r.highest);
  // NaN becomes the zero point: its rounded value is set to 0.
  const __m256i rounded = _mm256_cvtps_epi32(_mm256_and_ps(clamped, numbers));
  const __m256i q = _mm256_add_epi32(rounded, r.zero_point);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

__m256 dequantize_lanes(const Rounding& r, __m128i q) {
  return _mm256_mul_ps(r.scale,
                       _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(q), r.zero_point)));
}

// These two convert fewer elements than a register holds, without access beyond the end.
void quantize_few(const Rounding& r, const float* in, std::uint8_t* out, std::int64_t count,
                  std::int64_t step) {
  alignas(32) float reals[kLanes] = {};
  alignas(16) std::uint8_t bytes[16];
  for (std::int64_t i = 0; i < count; ++i) reals[i] = in[i];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), quantize_lanes(r, _mm256_load_ps(reals)));
  for (std::int64_t i = 0; i < count; ++i) out[i * step] = bytes[i];
}

void dequantize_few(const Rounding& r, const std::uint8_t* in, float* out, std::int64_t count,
                    std::int64_t step) {
  alignas(16) std::uint8_t bytes[16] = {};
  alignas(32) float reals[kLanes];
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = in[i * step];
  _mm256_store_ps(reals,
                  dequantize_lanes(r, _mm_load_si128(reinterpret_cast<const __m128i*>(bytes))));
  for (std::int64_t i = 0; i < count; ++i) out[i] = reals[i];
}

std::int64_t piece(std::int64_t left) { return left < kLanes ? left : kLanes; }

void quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
              std::int64_t count) {
  const Rounding r = rounding_of(affine);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i),
                     quantize_lanes(r, _mm256_loadu_ps(in + i)));
  }
  quantize_few(r, in + i, out + i, count - i, 1);
}

void dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                std::int64_t count) {
  const Rounding r = rounding_of(affine);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, dequantize_lanes(r, q));
  }
  dequantize_few(r, in + i, out + i, count - i, 1);
}

void quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry, const float* in,
                     std::uint8_t* out) {
  const Rounding r = rounding_of(affine);
  for (std::int64_t p = 0; p < geometry.pixels; p += kLanes) {
    for (std::int64_t c = 0; c < geometry.channels; ++c) {
      quantize_few(r, in + c * geometry.plane_stride + p, out + p * geometry.pixel_stride + c,
                   piece(geometry.pixels - p), geometry.pixel_stride);
    }
  }
}

void dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                       const std::uint8_t* in, float* out) {
  const Rounding r = rounding_of(affine);
  for (std::int64_t p = 0; p < geometry.pixels; p += kLanes) {
    for (std::int64_t c = 0; c < geometry.channels; ++c) {
      dequantize_few(r, in + p * geometry.pixel_stride + c, out + c * geometry.plane_stride + p,
                     piece(geometry.pixels - p), geometry.pixel_stride);
    }
  }
}

// The high and the low bytes of eight elements, each in the lower half of a register.
struct TwoBytes {
  __m128i high;
  __m128i low;
};

TwoBytes wide_lanes(const Rounding& r, const Rounding& rest, __m256 x) {
  const __m128i q = quantize_lanes(r, x);
  return {q, quantize_lanes(rest, _mm256_sub_ps(x, dequantize_lanes(r, q)))};
}

void quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine, const float* in,
                   std::uint8_t* high, std::uint8_t* low, std::int64_t count) {
  const Rounding r = rounding_of(affine);
  const Rounding rest = rounding_of(rest_affine);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const TwoBytes bytes = wide_lanes(r, rest, _mm256_loadu_ps(in + i));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(high + i), bytes.high);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(low + i), bytes.low);
  }
  alignas(32) float reals[kLanes] = {};
  alignas(16) std::uint8_t parts[2][16];
  for (std::int64_t k = 0; k < count - i; ++k) reals[k] = in[i + k];
  const TwoBytes bytes = wide_lanes(r, rest, _mm256_load_ps(reals));
  _mm_store_si128(reinterpret_cast<__m128i*>(parts[0]), bytes.high);
  _mm_store_si128(reinterpret_cast<__m128i*>(parts[1]), bytes.low);
  for (std::int64_t k = 0; k < count - i; ++k) {
    high[i + k] = parts[0][k];
    low[i + k] = parts[1][k];
  }
}

}  // namespace

constexpr QuantizeFunctions quantize_avx2 = {quantize, dequantize, quantize_planes,
                                             dequantize_planes, quantize_wide};

}  // namespace qtool
