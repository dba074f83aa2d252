#include "kernels/elementary/elementary.h"

namespace qtool {
namespace {

constexpr KernelRow<ElementaryFunctions> kElementaryRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &elementary_##name},
#include "kernels/elementary/elementary.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<ElementaryFunctions>> elementary_kernels() noexcept {
  return kElementaryRows;
}

}  // namespace qtool
