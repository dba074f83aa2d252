#include <cstdint>

#include "kernels/epilogue_avx2.h"
#include "kernels/pool/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kBytes = 32;
constexpr std::int64_t kHalf = 16;
constexpr std::int64_t kLanes = 8;

void max_bytes(const PoolCall& call, const std::uint8_t* pixel, std::uint8_t* out, std::int64_t c) {
  const auto load = [&](std::int64_t t) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel + call.offsets[t] + c));
  };
  __m256i best = load(0);
  for (std::int64_t t = 1; t < call.taps; ++t) best = _mm256_max_epu8(best, load(t));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + c), best);
}

// For the last channels of few: at most 16.
void max_few(const PoolCall& call, const std::uint8_t* pixel, std::uint8_t* out, std::int64_t c) {
  const std::int64_t count = call.channels - c;
  __m128i best = load_bytes(pixel + call.offsets[0] + c, count);
  for (std::int64_t t = 1; t < call.taps; ++t) {
    best = _mm_max_epu8(best, load_bytes(pixel + call.offsets[t] + c, count));
  }
  store_bytes(best, count, out + c);
}

void max(const PoolCall& call) {
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    const std::uint8_t* pixel = call.base + p * call.in_step;
    std::uint8_t* out = call.out + p * call.out_step;
    std::int64_t c = 0;
    for (; c + kBytes <= call.channels; c += kBytes) max_bytes(call, pixel, out, c);
    if (c == call.channels) continue;
    if (call.channels >= kBytes) {
      // The last block begins early enough to be whole. It writes some bytes a second time.
      max_bytes(call, pixel, out, call.channels - kBytes);
      continue;
    }
    for (; c < call.channels; c += kHalf) max_few(call, pixel, out, c);
  }
}

struct Rounding {
  __m256i offset;
  __m256i zero_point;
  __m256 multiplier;
  __m256 lowest;
  __m256 highest;
};

__m128i average_lanes(const Rounding& r, __m256i sum) {
  __m256 value = scale(_mm256_sub_epi32(sum, r.offset), r.multiplier);
  value = _mm256_min_ps(_mm256_max_ps(value, r.lowest), r.highest);
  const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(value), r.zero_point);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

void average_block(const PoolCall& call, const Rounding& r, const std::uint8_t* pixel,
                   std::uint8_t* out, std::int64_t c) {
  __m256i sum = _mm256_setzero_si256();
  for (std::int64_t t = 0; t < call.taps; ++t) {
    const auto* tap = reinterpret_cast<const __m128i*>(pixel + call.offsets[t] + c);
    sum = _mm256_add_epi32(sum, _mm256_cvtepu8_epi32(_mm_loadl_epi64(tap)));
  }
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out + c), average_lanes(r, sum));
}

// For fewer channels than lanes: sums them one by one and rounds them like average_block().
void average_few(const PoolCall& call, const Rounding& r, const std::uint8_t* pixel,
                 std::uint8_t* out) {
  alignas(32) std::int32_t sums[kLanes] = {};
  for (std::int64_t t = 0; t < call.taps; ++t) {
    for (std::int64_t c = 0; c < call.channels; ++c) sums[c] += pixel[call.offsets[t] + c];
  }
  alignas(16) std::uint8_t bytes[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes),
                  average_lanes(r, _mm256_load_si256(reinterpret_cast<const __m256i*>(sums))));
  for (std::int64_t c = 0; c < call.channels; ++c) out[c] = bytes[c];
}

void average(const PoolCall& call) {
  const Rounding r{_mm256_set1_epi32(call.offset), _mm256_set1_epi32(call.zero_point),
                   _mm256_set1_ps(call.multiplier),
                   _mm256_set1_ps(static_cast<float>(call.low - call.zero_point)),
                   _mm256_set1_ps(static_cast<float>(call.high - call.zero_point))};
  for (std::int64_t p = 0; p < call.pixels; ++p) {
    const std::uint8_t* pixel = call.base + p * call.in_step;
    std::uint8_t* out = call.out + p * call.out_step;
    if (call.channels < kLanes) {
      average_few(call, r, pixel, out);
      continue;
    }
    std::int64_t c = 0;
    for (; c + kLanes <= call.channels; c += kLanes) average_block(call, r, pixel, out, c);
    if (c < call.channels) average_block(call, r, pixel, out, call.channels - kLanes);
  }
}

}  // namespace

constexpr PoolFunctions pool_avx2 = {max, average};

}  // namespace qtool
