#include "kernels/lookup/lookup.h"

namespace qtool {
namespace {

constexpr KernelRow<LookupFunctions> kRows[] = {
#define QTOOL_KERNEL(name, isa) {#name, Isa::isa, &lookup_##name},
#include "kernels/lookup/lookup.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<LookupFunctions>> lookup_kernels() noexcept { return kRows; }

}  // namespace qtool
