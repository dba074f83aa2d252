#include "kernels/lookup/stages.h"

namespace qtool {
namespace {

// vpermi2b looks up 128 entries by the lower seven bits of a byte. The highest bit selects one of
// two such results.
void run(const LookupCall& call) {
  const __m512i first = _mm512_loadu_si512(call.table);
  const __m512i second = _mm512_loadu_si512(call.table + 64);
  const __m512i third = _mm512_loadu_si512(call.table + 128);
  const __m512i fourth = _mm512_loadu_si512(call.table + 192);
  map_rows(call, [&](__m512i q) QTOOL_INLINE {
    const __m512i low = _mm512_permutex2var_epi8(first, q, second);
    const __m512i high = _mm512_permutex2var_epi8(third, q, fourth);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(q), low, high);
  });
}

}  // namespace

constexpr LookupFunctions lookup_avx512vbmi = {run};

}  // namespace qtool
