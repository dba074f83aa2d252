#include "kernels/weight_sums/weight_sums.h"

namespace qtool {
namespace {

constexpr KernelRow<WeightSumsFunctions> kWeightSumsRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &weight_sums_##name},
#include "kernels/weight_sums/weight_sums.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<WeightSumsFunctions>> weight_sums_kernels() noexcept {
  return kWeightSumsRows;
}

}  // namespace qtool
