#include "kernels/cross_entropy/cross_entropy.h"

namespace qtool {
namespace {

constexpr KernelRow<CrossEntropyFunctions> kCrossEntropyRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &cross_entropy_##name},
#include "kernels/cross_entropy/cross_entropy.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<CrossEntropyFunctions>> cross_entropy_kernels() noexcept {
  return kCrossEntropyRows;
}

}  // namespace qtool
