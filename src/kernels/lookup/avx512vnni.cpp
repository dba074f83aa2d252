#include "kernels/lookup/stages.h"

namespace qtool {
namespace {

constexpr int kRows = 16;

// The table is sixteen rows of sixteen bytes. The lower half of a byte selects an entry of every
// row (vpshufb), the upper half selects the row.
void run(const LookupCall& call) {
  __m512i table[kRows];
  for (int k = 0; k < kRows; ++k) {
    table[k] = _mm512_broadcast_i32x4(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(call.table + 16 * k)));
  }
  const __m512i low_half = _mm512_set1_epi8(15);
  map_rows(call, [&](__m512i q) QTOOL_INLINE {
    const __m512i column = _mm512_and_si512(q, low_half);
    const __m512i row = _mm512_and_si512(_mm512_srli_epi16(q, 4), low_half);
    __m512i result = _mm512_shuffle_epi8(table[0], column);
    for (int k = 1; k < kRows; ++k) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(row, _mm512_set1_epi8(static_cast<char>(k)));
      result = _mm512_mask_shuffle_epi8(result, here, table[k], column);
    }
    return result;
  });
}

}  // namespace

constexpr LookupFunctions lookup_avx512vnni = {run};

}  // namespace qtool
