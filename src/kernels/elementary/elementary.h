#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/elementary/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<ElementaryFunctions>> elementary_kernels() noexcept;

/// Computes elementary functions of many floats. All kernels give the same bits.
class ElementaryKernel {
 public:
  explicit ElementaryKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(elementary_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// The functions, to be called with (x, y, count); see ElementaryFunction.
  [[nodiscard]] const ElementaryFunctions& functions() const { return *row_->functions; }

 private:
  const KernelRow<ElementaryFunctions>* row_;
};

/// The functions that the kernels approximate: those of the C library in double, rounded to float.
/// They are never selected as kernels.
void reference_erf(const float* x, float* y, std::int64_t count);
void reference_exp(const float* x, float* y, std::int64_t count);
void reference_expm1(const float* x, float* y, std::int64_t count);
void reference_sigmoid(const float* x, float* y, std::int64_t count);
void reference_silu(const float* x, float* y, std::int64_t count);
void reference_softplus(const float* x, float* y, std::int64_t count);
void reference_tanh(const float* x, float* y, std::int64_t count);

}  // namespace qtool
