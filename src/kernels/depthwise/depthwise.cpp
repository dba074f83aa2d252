#include "kernels/depthwise/depthwise.h"

namespace qtool {
namespace {

constexpr KernelRow<DepthwiseFunctions> kDepthwiseRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &depthwise_##name},
#include "kernels/depthwise/depthwise.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<DepthwiseFunctions>> depthwise_kernels() noexcept {
  return kDepthwiseRows;
}

}  // namespace qtool
