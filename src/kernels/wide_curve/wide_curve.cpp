#include "kernels/wide_curve/wide_curve.h"

namespace qtool {
namespace {

constexpr KernelRow<WideCurveFunctions> kWideCurveRows[] = {
#define QTOOL_KERNEL(name) {#name, isa::name.needs, &wide_curve_##name},
#include "kernels/wide_curve/wide_curve.inc"
#undef QTOOL_KERNEL
};

}  // namespace

std::span<const KernelRow<WideCurveFunctions>> wide_curve_kernels() noexcept {
  return kWideCurveRows;
}

}  // namespace qtool
