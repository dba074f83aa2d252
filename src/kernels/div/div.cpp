#include "kernels/div/div.h"

namespace qtool {
namespace {

constexpr KernelRow<DivFunctions> kDivRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &div_##name},
#include "kernels/div/div.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<DivFunctions>> div_kernels() noexcept { return kDivRows; }

}  // namespace qtool
