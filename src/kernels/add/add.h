#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/add/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<AddFunctions>> add_kernels() noexcept;

/// Adds quantized tensors with the fastest kernel that the selection allows.
class AddKernel {
 public:
  explicit AddKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(add_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// Each tensor has `count` elements. `out` may be `a` or `b`.
  void run(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
           std::int64_t count) const {
    row_->functions->run(params, a, b, out, count);
  }

 private:
  const KernelRow<AddFunctions>* row_;
};

/// The specification: naive code that is never selected as a kernel.
void reference_add(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b,
                   std::uint8_t* out, std::int64_t count);

}  // namespace qtool
