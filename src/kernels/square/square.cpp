#include "kernels/square/square.h"

namespace qtool {
namespace {

constexpr KernelRow<SquareFunctions> kSquareRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &square_##name},
#include "kernels/square/square.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<SquareFunctions>> square_kernels() noexcept { return kSquareRows; }

}  // namespace qtool
