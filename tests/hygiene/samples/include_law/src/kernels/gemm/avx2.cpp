#include <immintrin.h>
#include <cstdint>
#include <vector>
#include "kernels/gemm/contract.h"
#include "kernels/gemm/gemm.h"
