#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/mul/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<MulFunctions>> mul_kernels() noexcept;

/// Multiplies quantized tensors with the fastest kernel that the selection allows.
class MulKernel {
 public:
  explicit MulKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(mul_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// Each tensor has `count` elements. `out` may be `a` or `b`.
  void run(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
           std::int64_t count) const {
    row_->functions->run(params, a, b, out, count);
  }

 private:
  const KernelRow<MulFunctions>* row_;
};

/// The specification: naive code that is never selected as a kernel.
void reference_mul(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b,
                   std::uint8_t* out, std::int64_t count);

}  // namespace qtool
