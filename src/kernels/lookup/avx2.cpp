#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/lookup/contract.h"
#include "kernels/unroll.h"

namespace qtool {
namespace {

constexpr std::int64_t kBytes = 32;
constexpr unsigned kRows = 16;

// Looks up 32 bytes. The table is sixteen rows of sixteen bytes. The lower half of a byte selects
// an entry of every row (vpshufb). The bits of the upper half select a row: each bit, from the
// lowest, halves the candidates (vpblendvb goes by the highest bit of a byte).
QTOOL_INLINE inline __m256i look_up(const std::uint8_t* table, __m256i q) {
  const __m256i column = _mm256_and_si256(q, _mm256_set1_epi8(15));
  __m256i candidates[kRows];
  unroll<kRows>([&](auto k) QTOOL_INLINE {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16U * k));
    candidates[k] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), column);
  });
  unroll<4>([&](auto bit) QTOOL_INLINE {
    const __m256i selector = _mm256_slli_epi16(q, 3 - static_cast<int>(bit));
    unroll<(kRows >> (bit + 1))>([&](auto k) QTOOL_INLINE {
      candidates[k] = _mm256_blendv_epi8(candidates[2 * k], candidates[2 * k + 1], selector);
    });
  });
  return candidates[0];
}

void run(const LookupCall& call) {
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::uint8_t* in = call.in + r * call.in_stride;
    std::uint8_t* out = call.out + r * call.out_stride;
    std::int64_t i = 0;
    for (; i + kBytes <= call.width; i += kBytes) {
      const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), look_up(call.table, q));
    }
    for (; i < call.width; ++i) out[i] = call.table[in[i]];
  }
}

}  // namespace

constexpr LookupFunctions lookup_avx2 = {run};

}  // namespace qtool
