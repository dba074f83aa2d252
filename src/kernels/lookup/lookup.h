#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/lookup/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<LookupFunctions>> lookup_kernels() noexcept;

/// Any function of one quantized value, as a table.
class LookupKernel {
 public:
  explicit LookupKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(lookup_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// out[i] = table[in[i]]; `out` may be `in`.
  void run(std::span<const std::uint8_t, 256> table, const std::uint8_t* in, std::uint8_t* out,
           std::int64_t count) const {
    row_->functions->run(table.data(), in, out, count);
  }

 private:
  const KernelRow<LookupFunctions>* row_;
};

/// The specification: naive, never dispatched.
void reference_lookup(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out,
                      std::int64_t count);

}  // namespace qtool
