#include <cstdint>

#include "kernels/intrinsics.h"
#include "kernels/lookup/contract.h"

namespace qtool {
namespace {

constexpr std::int64_t kBytes = 64;
constexpr int kRows = 16;

// The table is sixteen rows of sixteen bytes. The lower half of a byte selects an entry of every
// row (vpshufb), the upper half selects the row.
void run(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out, std::int64_t count) {
  __m512i rows[kRows];
  for (int k = 0; k < kRows; ++k) {
    rows[k] =
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * k)));
  }
  const __m512i low_half = _mm512_set1_epi8(15);
  for (std::int64_t i = 0; i < count; i += kBytes) {
    const __mmask64 mask = count - i >= kBytes ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
    const __m512i q = _mm512_maskz_loadu_epi8(mask, in + i);
    const __m512i column = _mm512_and_si512(q, low_half);
    const __m512i row = _mm512_and_si512(_mm512_srli_epi16(q, 4), low_half);
    __m512i result = _mm512_shuffle_epi8(rows[0], column);
    for (int k = 1; k < kRows; ++k) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(row, _mm512_set1_epi8(static_cast<char>(k)));
      result = _mm512_mask_shuffle_epi8(result, here, rows[k], column);
    }
    _mm512_mask_storeu_epi8(out + i, mask, result);
  }
}

}  // namespace

constexpr LookupFunctions lookup_avx512vnni = {run};

}  // namespace qtool
