#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/mul/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 8;

struct Constants {
  __m256 m;
  __m256i za;
  __m256i zb;
  __m256i zy;
  __m256 lowest;
  __m256 highest;
};

// Eight bytes of each, in the lower halves.
__m128i lanes(const Constants& c, __m128i a, __m128i b) {
  const __m256i qa = _mm256_cvtepu8_epi32(a);
  const __m256i qb = _mm256_cvtepu8_epi32(b);
  const __m256i product =
      _mm256_mullo_epi32(_mm256_sub_epi32(qa, c.za), _mm256_sub_epi32(qb, c.zb));
  __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(product), c.m);
  value = _mm256_min_ps(_mm256_max_ps(value, c.lowest), c.highest);
  const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(value), c.zy);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

void run(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
         std::int64_t count) {
  const Constants c{_mm256_set1_ps(params.m),
                    _mm256_set1_epi32(params.za),
                    _mm256_set1_epi32(params.zb),
                    _mm256_set1_epi32(params.zy),
                    _mm256_set1_ps(static_cast<float>(params.low - params.zy)),
                    _mm256_set1_ps(static_cast<float>(params.high - params.zy))};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a + i));
    const __m128i y = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + i));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), lanes(c, x, y));
  }
  if (i == count) return;
  alignas(16) std::uint8_t x[16] = {};
  alignas(16) std::uint8_t y[16] = {};
  for (std::int64_t k = i; k < count; ++k) {
    x[k - i] = a[k];
    y[k - i] = b[k];
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(x),
                  lanes(c, _mm_load_si128(reinterpret_cast<const __m128i*>(x)),
                        _mm_load_si128(reinterpret_cast<const __m128i*>(y))));
  for (std::int64_t k = i; k < count; ++k) out[k] = x[k - i];
}

}  // namespace

constexpr MulFunctions mul_avx2 = {run};

}  // namespace qtool
