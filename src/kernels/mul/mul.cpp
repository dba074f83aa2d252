#include "kernels/mul/mul.h"

namespace qtool {
namespace {

constexpr KernelRow<MulFunctions> kMulRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &mul_##name},
#include "kernels/mul/mul.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<MulFunctions>> mul_kernels() noexcept { return kMulRows; }

}  // namespace qtool
