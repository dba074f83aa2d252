#include "kernels/quantize/quantize.h"

namespace qtool {
namespace {

constexpr KernelRow<QuantizeFunctions> kQuantizeRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &quantize_##name},
#include "kernels/quantize/quantize.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<QuantizeFunctions>> quantize_kernels() noexcept { return kQuantizeRows; }

}  // namespace qtool
