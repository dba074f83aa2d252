#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/select.h"
#include "kernels/square/contract.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<SquareFunctions>> square_kernels() noexcept;

/// Squares the difference of quantized tensors with the fastest kernel that the selection allows.
class SquareKernel {
 public:
  explicit SquareKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(square_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// Each tensor has `count` elements. `out` may be `a` or `b`.
  void run(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
           std::uint8_t* out, std::int64_t count) const {
    row_->functions->run(params, a, b, out, count);
  }

 private:
  const KernelRow<SquareFunctions>* row_;
};

/// The specification: naive code that is never selected as a kernel.
void reference_square(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
                      std::uint8_t* out, std::int64_t count);

}  // namespace qtool
