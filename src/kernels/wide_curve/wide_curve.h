#pragma once

#include <span>
#include <string_view>

#include "kernels/select.h"
#include "kernels/wide_curve/contract.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<WideCurveFunctions>> wide_curve_kernels() noexcept;

/// Computes the bytes of curves with the fastest kernel that the selection allows.
class WideCurveKernel {
 public:
  explicit WideCurveKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(wide_curve_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  void run(const WideCurve& curve, const WideCurveCall& call) const {
    row_->functions->run(curve, call);
  }

 private:
  const KernelRow<WideCurveFunctions>* row_;
};

/// The specification: naive code that is never selected as a kernel.
void reference_wide_curve(const WideCurve& curve, const WideCurveCall& call);

}  // namespace qtool
