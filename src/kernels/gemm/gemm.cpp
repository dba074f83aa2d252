#include "kernels/gemm/gemm.h"

namespace qtool {
namespace {

constexpr KernelRow<GemmFunctions> kGemmRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &gemm_##name},
#include "kernels/gemm/gemm.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<GemmFunctions>> gemm_kernels() noexcept { return kGemmRows; }

}  // namespace qtool
