#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/elementary/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<ElementaryFunctions>> elementary_kernels() noexcept;

/// Elementary functions of many floats. All kernels give the same bits.
class ElementaryKernel {
 public:
  explicit ElementaryKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(elementary_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// Call with (x, y, count), as ElementaryFunction says.
  [[nodiscard]] const ElementaryFunctions& functions() const { return *row_->functions; }

 private:
  const KernelRow<ElementaryFunctions>* row_;
};

/// What the kernels approximate: the functions of the C library in double, rounded to float; never
/// dispatched.
void reference_erf(const float* x, float* y, std::int64_t count);
void reference_exp(const float* x, float* y, std::int64_t count);
void reference_expm1(const float* x, float* y, std::int64_t count);
void reference_sigmoid(const float* x, float* y, std::int64_t count);
void reference_softplus(const float* x, float* y, std::int64_t count);
void reference_tanh(const float* x, float* y, std::int64_t count);

}  // namespace qtool
