#pragma once

#include <cstdint>

#include "kernels/epilogue_avx512.h"
#include "kernels/lookup/contract.h"

// What the kernels for AVX-512 share.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): see logarithm.h

// Calls look_up(q) for 64 bytes at a time, the last ones of a row filled up with zeros, and stores
// its results.
template <typename LookUp>
QTOOL_INLINE inline void map_rows(const LookupCall& call, const LookUp& look_up) {
  constexpr std::int64_t kBytes = 64;
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const std::uint8_t* in = call.in + r * call.in_stride;
    std::uint8_t* out = call.out + r * call.out_stride;
    for (std::int64_t i = 0; i < call.width; i += kBytes) {
      const __mmask64 mask = first_bytes(call.width - i);
      _mm512_mask_storeu_epi8(out + i, mask, look_up(_mm512_maskz_loadu_epi8(mask, in + i)));
    }
  }
}

}  // namespace
}  // namespace qtool
