#include "kernels/square/square.h"

namespace qtool {
namespace {

constexpr KernelRow<SquareFunctions> kRows[] = {
#define QTOOL_KERNEL(name, isa) {#name, Isa::isa, &square_##name},
#include "kernels/square/square.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<SquareFunctions>> square_kernels() noexcept { return kRows; }

}  // namespace qtool
