#include <cstdint>

#include "kernels/epilogue_avx512.h"
#include "kernels/pool/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kBytes = 64;
constexpr std::int64_t kLanes = 16;

__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffffU : (1U << count) - 1U);
}

void max(const PoolCall& call) {
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    const std::uint8_t* pixel = call.base + p * call.in_step;
    std::uint8_t* out = call.out + p * call.out_step;
    for (std::int64_t c = 0; c < call.channels; c += kBytes) {
      const __mmask64 mask = first_bytes(call.channels - c);
      __m512i best = _mm512_maskz_loadu_epi8(mask, pixel + call.offsets[0] + c);
      for (std::int64_t t = 1; t < call.taps; ++t) {
        best = _mm512_max_epu8(best, _mm512_maskz_loadu_epi8(mask, pixel + call.offsets[t] + c));
      }
      _mm512_mask_storeu_epi8(out + c, mask, best);
    }
  }
}

void average(const PoolCall& call) {
  const __m512i offset = _mm512_set1_epi32(call.offset);
  const __m512i zero_point = _mm512_set1_epi32(call.zero_point);
  const __m512 multiplier = _mm512_set1_ps(call.multiplier);
  const __m512 lowest = _mm512_set1_ps(static_cast<float>(call.low - call.zero_point));
  const __m512 highest = _mm512_set1_ps(static_cast<float>(call.high - call.zero_point));
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    const std::uint8_t* pixel = call.base + p * call.in_step;
    std::uint8_t* out = call.out + p * call.out_step;
    for (std::int64_t c = 0; c < call.channels; c += kLanes) {
      const __mmask16 mask = first_lanes(call.channels - c);
      __m512i sum = _mm512_setzero_si512();
      for (std::int64_t t = 0; t < call.taps; ++t) {
        const __m128i tap = _mm_maskz_loadu_epi8(mask, pixel + call.offsets[t] + c);
        sum = _mm512_add_epi32(sum, _mm512_cvtepu8_epi32(tap));
      }
      __m512 value = scale(_mm512_sub_epi32(sum, offset), multiplier);
      value = _mm512_min_ps(_mm512_max_ps(value, lowest), highest);
      const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(value), zero_point);
      _mm_mask_storeu_epi8(out + c, mask, _mm512_cvtepi32_epi8(q));
    }
  }
}

}  // namespace

constexpr PoolFunctions pool_avx512vnni = {max, average};

}  // namespace qtool
