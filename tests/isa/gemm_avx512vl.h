#pragma once

#include "kernels/gemm/contract.h"

namespace qtool {

/// The gemm kernel for AVX-VNNI with the instruction of AVX-512 VL and VNNI, which gives the same
/// results.
extern const GemmFunctions gemm_avx512vl;

}  // namespace qtool
