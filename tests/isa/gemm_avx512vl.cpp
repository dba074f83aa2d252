// The gemm kernel for AVX-VNNI with the other form of its instruction, that of AVX-512 VL. Only few
// processors have AVX-VNNI, so this form shows that the shared source is right.
#include "isa/gemm_avx512vl.h"

#include <cstdint>

#include "kernels/gemm/stages.h"

namespace qtool {
namespace {

struct Avx512Vl {
  QTOOL_INLINE static __m256i add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_epi32(sums, bytes, weights);
  }
};

}  // namespace

constexpr GemmFunctions gemm_avx512vl = {run_rows<DotTile<Avx512Vl>>, kDotLayout};

}  // namespace qtool
