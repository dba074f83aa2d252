#include <cstdint>

#include "kernels/gemm/stages.h"

namespace qtool {
namespace {

struct AvxVnni {
  QTOOL_INLINE static __m256i add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_avx_epi32(sums, bytes, weights);
  }
};

}  // namespace

constexpr GemmFunctions gemm_avxvnni = {run_rows<DotTile<AvxVnni>>, kDotLayout};

}  // namespace qtool
