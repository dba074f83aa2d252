#include <cstdint>

#include "kernels/epilogue_avx512.h"
#include "kernels/intrinsics.h"
#include "kernels/lookup/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kBytes = 64;

// vpermi2b looks up 128 entries by the lower seven bits of a byte. The highest bit selects one of
// two such results.
void run(const LookupCall& call) {
  const __m512i first = _mm512_loadu_si512(call.table);
  const __m512i second = _mm512_loadu_si512(call.table + 64);
  const __m512i third = _mm512_loadu_si512(call.table + 128);
  const __m512i fourth = _mm512_loadu_si512(call.table + 192);
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::uint8_t* in = call.in + r * call.in_stride;
    std::uint8_t* out = call.out + r * call.out_stride;
    for (std::int64_t i = 0; i < call.width; i += kBytes) {
      const __mmask64 mask = first_bytes(call.width - i);
      const __m512i q = _mm512_maskz_loadu_epi8(mask, in + i);
      const __m512i low = _mm512_permutex2var_epi8(first, q, second);
      const __m512i high = _mm512_permutex2var_epi8(third, q, fourth);
      const __m512i result = _mm512_mask_blend_epi8(_mm512_movepi8_mask(q), low, high);
      _mm512_mask_storeu_epi8(out + i, mask, result);
    }
  }
}

}  // namespace

constexpr LookupFunctions lookup_avx512vbmi = {run};

}  // namespace qtool
