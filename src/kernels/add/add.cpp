#include "kernels/add/add.h"

namespace qtool {
namespace {

constexpr KernelRow<AddFunctions> kAddRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &add_##name},
#include "kernels/add/add.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<AddFunctions>> add_kernels() noexcept { return kAddRows; }

}  // namespace qtool
