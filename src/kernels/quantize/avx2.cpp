#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/quantize/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 8;

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

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

// The integers without the zero point.
__m256i round_lanes(const Rounding& r, __m256 x) {
  const __m256 scaled = _mm256_div_ps(x, r.scale);
  const __m256 numbers = _mm256_cmp_ps(scaled, scaled, _CMP_ORD_Q);
  const __m256 clamped = _mm256_min_ps(_mm256_max_ps(scaled, r.lowest), r.highest);
  // NaN becomes the zero point: its rounded value is set to 0.
  return _mm256_cvtps_epi32(_mm256_and_ps(clamped, numbers));
}

// Returns eight bytes in the lower half of the register.
__m128i pack_lanes(const Rounding& r, __m256i rounded) {
  const __m256i q = _mm256_add_epi32(rounded, r.zero_point);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

__m128i quantize_lanes(const Rounding& r, __m256 x) { return pack_lanes(r, round_lanes(r, x)); }

__m256 dequantize_lanes(const Rounding& r, __m128i q) {
  return _mm256_mul_ps(r.scale,
                       _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(q), r.zero_point)));
}

// Loads the first `count` of eight floats; the others are zero.
__m256 load_reals(const float* from, std::int64_t count) {
  if (count >= kLanes) return _mm256_loadu_ps(from);
  alignas(32) float reals[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) reals[i] = from[i];
  return _mm256_load_ps(reals);
}

// Stores the first `count` of eight floats.
void store_reals(__m256 reals, float* to, std::int64_t count) {
  if (count >= kLanes) return _mm256_storeu_ps(to, reals);
  alignas(32) float part[kLanes];
  _mm256_store_ps(part, reals);
  for (std::int64_t i = 0; i < count; ++i) to[i] = part[i];
}

void quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
              std::int64_t count) {
  const Rounding r = rounding_of(affine);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i),
                     quantize_lanes(r, _mm256_loadu_ps(in + i)));
  }
  store_bytes(quantize_lanes(r, load_reals(in + i, count - i)), count - i, out + i);
}

void dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                std::int64_t count) {
  const Rounding r = rounding_of(affine);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, dequantize_lanes(r, q));
  }
  store_reals(dequantize_lanes(r, load_bytes(in + i, count - i)), out + i, count - i);
}

// The two orders meet in blocks of eight pixels and four channels: each plane gives eight bytes,
// and a 4x8 transpose gives the four bytes of each pixel.
constexpr std::int64_t kPlanes = 4;

// Three planes and no gaps, such as the image that a network takes. Leaves the last two to nine
// pixels; returns the number of the others.
std::int64_t quantize_colours(const Rounding& r, const PlaneGeometry& geometry, const float* in,
                              std::uint8_t* out) {
  const __m128i without_fourth =
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  std::int64_t p = 0;
  // Each store of 16 bytes holds four pixels, and four bytes that a later store overwrites, which
  // belong to the next two pixels.
  for (; p + kLanes + 2 <= geometry.pixels; p += kLanes, in += kLanes, out += 3 * kLanes) {
    const auto plane = [&](std::int64_t k) {
      return quantize_lanes(r, _mm256_loadu_ps(in + k * geometry.plane_stride));
    };
    const __m128i first = _mm_unpacklo_epi8(plane(0), plane(1));
    const __m128i third = _mm_unpacklo_epi8(plane(2), _mm_setzero_si128());
    const __m128i low = _mm_shuffle_epi8(_mm_unpacklo_epi16(first, third), without_fourth);
    const __m128i high = _mm_shuffle_epi8(_mm_unpackhi_epi16(first, third), without_fourth);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), low);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 12), high);
  }
  return p;
}

void quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry, const float* in,
                     std::uint8_t* out) {
  const Rounding r = rounding_of(affine);
  const bool dense = geometry.channels == 3 && geometry.pixel_stride == 3;
  for (std::int64_t p = dense ? quantize_colours(r, geometry, in, out) : 0; p < geometry.pixels;
       p += kLanes) {
    const std::int64_t pixels = smaller(geometry.pixels - p, kLanes);
    for (std::int64_t c = 0; c < geometry.channels; c += kPlanes) {
      const std::int64_t channels = smaller(geometry.channels - c, kPlanes);
      const float* from = in + c * geometry.plane_stride + p;
      __m128i plane[kPlanes] = {};
      for (std::int64_t k = 0; k < channels; ++k) {
        plane[k] = quantize_lanes(r, load_reals(from + k * geometry.plane_stride, pixels));
      }
      const __m128i first = _mm_unpacklo_epi8(plane[0], plane[1]);
      const __m128i second = _mm_unpacklo_epi8(plane[2], plane[3]);
      alignas(16) std::uint8_t block[kLanes][kPlanes];
      _mm_store_si128(reinterpret_cast<__m128i*>(block[0]), _mm_unpacklo_epi16(first, second));
      _mm_store_si128(reinterpret_cast<__m128i*>(block[4]), _mm_unpackhi_epi16(first, second));
      std::uint8_t* to = out + p * geometry.pixel_stride + c;
      for (std::int64_t i = 0; i < pixels; ++i, to += geometry.pixel_stride) {
        if (channels == kPlanes) {
          __builtin_memcpy(to, block[i], kPlanes);
        } else {
          for (std::int64_t k = 0; k < channels; ++k) to[k] = block[i][k];
        }
      }
    }
  }
}

void dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                       const std::uint8_t* in, float* out) {
  const Rounding r = rounding_of(affine);
  // From the order of pixels (four bytes each) to that of planes, within four pixels.
  const __m128i by_plane = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::int64_t p = 0; p < geometry.pixels; p += kLanes) {
    const std::int64_t pixels = smaller(geometry.pixels - p, kLanes);
    for (std::int64_t c = 0; c < geometry.channels; c += kPlanes) {
      const std::int64_t channels = smaller(geometry.channels - c, kPlanes);
      const std::uint8_t* from = in + p * geometry.pixel_stride + c;
      alignas(16) std::uint8_t block[kLanes][kPlanes] = {};
      for (std::int64_t i = 0; i < pixels; ++i, from += geometry.pixel_stride) {
        if (channels == kPlanes) {
          __builtin_memcpy(block[i], from, kPlanes);
        } else {
          for (std::int64_t k = 0; k < channels; ++k) block[i][k] = from[k];
        }
      }
      const auto half = [&](std::int64_t pixel) {
        const auto* four = reinterpret_cast<const __m128i*>(block[pixel]);
        return _mm_shuffle_epi8(_mm_load_si128(four), by_plane);
      };
      const __m128i first = _mm_unpacklo_epi32(half(0), half(4));
      const __m128i second = _mm_unpackhi_epi32(half(0), half(4));
      const __m128i plane[kPlanes] = {first, _mm_srli_si128(first, 8), second,
                                      _mm_srli_si128(second, 8)};
      float* to = out + c * geometry.plane_stride + p;
      for (std::int64_t k = 0; k < channels; ++k) {
        store_reals(dequantize_lanes(r, plane[k]), to + k * geometry.plane_stride, pixels);
      }
    }
  }
}

// The high and the low bytes of eight elements, each in the lower half of a register.
struct TwoBytes {
  __m128i high;
  __m128i low;
};

TwoBytes wide_lanes(const Rounding& r, const Rounding& rest, __m256 x) {
  const __m256i q = round_lanes(r, x);
  const __m256 real = _mm256_mul_ps(r.scale, _mm256_cvtepi32_ps(q));
  return {pack_lanes(r, q), quantize_lanes(rest, _mm256_sub_ps(x, real))};
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
  const TwoBytes bytes = wide_lanes(r, rest, load_reals(in + i, count - i));
  store_bytes(bytes.high, count - i, high + i);
  store_bytes(bytes.low, count - i, low + i);
}

}  // namespace

constexpr QuantizeFunctions quantize_avx2 = {quantize, dequantize, quantize_planes,
                                             dequantize_planes, quantize_wide};

}  // namespace qtool
