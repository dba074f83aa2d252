#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/quantize/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 16;

__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffU : (1U << count) - 1U);
}

// Loads and stores of the first `count` lanes. Processors of several kinds store bytes under a mask
// many times slower than whole vectors.
__m512 load_lanes(const float* in, std::int64_t count) {
  return count >= kLanes ? _mm512_loadu_ps(in) : _mm512_maskz_loadu_ps(first_lanes(count), in);
}

void store_lanes(std::uint8_t* out, __m128i bytes, std::int64_t count) {
  if (count >= kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  } else {
    _mm_mask_storeu_epi8(out, first_lanes(count), bytes);
  }
}

struct Rounding {
  __m512 scale;
  __m512 lowest;
  __m512 highest;
  __m512i zero_point;
};

Rounding rounding_of(const QuantizeParams& affine) {
  return {_mm512_set1_ps(affine.scale),
          _mm512_set1_ps(static_cast<float>(affine.low - affine.zero_point)),
          _mm512_set1_ps(static_cast<float>(affine.high - affine.zero_point)),
          _mm512_set1_epi32(affine.zero_point)};
}

__m128i quantize_lanes(const Rounding& r, __m512 x) {
  const __m512 scaled = _mm512_div_ps(x, r.scale);
  const __mmask16 numbers = _mm512_cmp_ps_mask(scaled, scaled, _CMP_ORD_Q);
  const __m512 clamped = _mm512_min_ps(_mm512_max_ps(scaled, r.lowest), r.highest);
  // NaN becomes the zero point: its rounded value is set to 0.
  const __m512i rounded = _mm512_maskz_cvtps_epi32(numbers, clamped);
  return _mm512_cvtepi32_epi8(_mm512_add_epi32(rounded, r.zero_point));
}

__m512 dequantize_lanes(const Rounding& r, __m128i q) {
  return _mm512_mul_ps(r.scale,
                       _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_cvtepu8_epi32(q), r.zero_point)));
}

void quantize(const QuantizeParams& affine, const float* in, std::uint8_t* out,
              std::int64_t count) {
  const Rounding r = rounding_of(affine);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    store_lanes(out + i, quantize_lanes(r, load_lanes(in + i, count - i)), count - i);
  }
}

void dequantize(const QuantizeParams& affine, const std::uint8_t* in, float* out,
                std::int64_t count) {
  const Rounding r = rounding_of(affine);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 mask = first_lanes(count - i);
    _mm512_mask_storeu_ps(out + i, mask, dequantize_lanes(r, _mm_maskz_loadu_epi8(mask, in + i)));
  }
}

// Puts byte i of `plane` at byte 3 i + kChannel of 48 bytes, and returns the 16 bytes from 16
// kPiece on. All other bytes are 0.
template <int kPiece, int kChannel>
__m128i spread(__m128i plane) {
  alignas(16) std::int8_t source[16];
  for (int i = 0; i < 16; ++i) {
    const int byte = 16 * kPiece + i;
    source[i] = static_cast<std::int8_t>(byte % 3 == kChannel ? byte / 3 : -1);
  }
  return _mm_shuffle_epi8(plane, _mm_load_si128(reinterpret_cast<const __m128i*>(source)));
}

template <int kPiece>
__m128i interleave(const __m128i (&planes)[3]) {
  return _mm_or_si128(_mm_or_si128(spread<kPiece, 0>(planes[0]), spread<kPiece, 1>(planes[1])),
                      spread<kPiece, 2>(planes[2]));
}

// Quantizes three adjacent planes, a colour image. Returns the number of pixels done, a multiple of
// kLanes.
std::int64_t quantize_colours(const Rounding& r, const PlaneGeometry& geometry, const float* in,
                              std::uint8_t* out) {
  std::int64_t p = 0;
  for (; p + kLanes <= geometry.pixels; p += kLanes) {
    __m128i planes[3];
    for (int c = 0; c < 3; ++c) {
      planes[c] = quantize_lanes(r, _mm512_loadu_ps(in + c * geometry.plane_stride + p));
    }
    auto* target = reinterpret_cast<__m128i*>(out + 3 * p);
    _mm_storeu_si128(target, interleave<0>(planes));
    _mm_storeu_si128(target + 1, interleave<1>(planes));
    _mm_storeu_si128(target + 2, interleave<2>(planes));
  }
  return p;
}

void quantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry, const float* in,
                     std::uint8_t* out) {
  const Rounding r = rounding_of(affine);
  std::int64_t done = 0;
  if (geometry.channels == 3 && geometry.pixel_stride == 3) {
    done = quantize_colours(r, geometry, in, out);
  }
  alignas(16) std::uint8_t bytes[kLanes];
  for (std::int64_t p = done; p < geometry.pixels; p += kLanes) {
    const std::int64_t count = geometry.pixels - p < kLanes ? geometry.pixels - p : kLanes;
    const __mmask16 mask = first_lanes(count);
    for (std::int64_t c = 0; c < geometry.channels; ++c) {
      const __m512 x = _mm512_maskz_loadu_ps(mask, in + c * geometry.plane_stride + p);
      _mm_store_si128(reinterpret_cast<__m128i*>(bytes), quantize_lanes(r, x));
      for (std::int64_t i = 0; i < count; ++i) out[(p + i) * geometry.pixel_stride + c] = bytes[i];
    }
  }
}

void dequantize_planes(const QuantizeParams& affine, const PlaneGeometry& geometry,
                       const std::uint8_t* in, float* out) {
  const Rounding r = rounding_of(affine);
  alignas(16) std::uint8_t bytes[kLanes] = {};
  for (std::int64_t p = 0; p < geometry.pixels; p += kLanes) {
    const std::int64_t count = geometry.pixels - p < kLanes ? geometry.pixels - p : kLanes;
    for (std::int64_t c = 0; c < geometry.channels; ++c) {
      for (std::int64_t i = 0; i < count; ++i) bytes[i] = in[(p + i) * geometry.pixel_stride + c];
      const __m128i q = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
      _mm512_mask_storeu_ps(out + c * geometry.plane_stride + p, first_lanes(count),
                            dequantize_lanes(r, q));
    }
  }
}

void quantize_wide(const QuantizeParams& affine, const QuantizeParams& rest_affine, const float* in,
                   std::uint8_t* high, std::uint8_t* low, std::int64_t count) {
  const Rounding r = rounding_of(affine);
  const Rounding rest = rounding_of(rest_affine);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __m512 x = load_lanes(in + i, count - i);
    const __m128i q = quantize_lanes(r, x);
    store_lanes(high + i, q, count - i);
    store_lanes(low + i, quantize_lanes(rest, _mm512_sub_ps(x, dequantize_lanes(r, q))), count - i);
  }
}

}  // namespace

constexpr QuantizeFunctions quantize_avx512vnni = {quantize, dequantize, quantize_planes,
                                                   dequantize_planes, quantize_wide};

}  // namespace qtool
