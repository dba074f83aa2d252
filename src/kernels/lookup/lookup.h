#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/lookup/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<LookupFunctions>> lookup_kernels() noexcept;

/// Applies any function of one quantized value, given as a table.
class LookupKernel {
 public:
  explicit LookupKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(lookup_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// out[i] = table[in[i]]; `out` may be `in`.
  void run(std::span<const std::uint8_t, 256> table, const std::uint8_t* in, std::uint8_t* out,
           std::int64_t count) const {
    run_rows({table.data(), in, count, out, count, 1, count});
  }
  void run_rows(const LookupCall& call) const { row_->functions->run(call); }

 private:
  const KernelRow<LookupFunctions>* row_;
};

/// Looks up channels-last elements, with one table for each of the `channels`:
/// out[p * channels + c] = tables[c * 256 + in[p * channels + c]] for each pixel p. `out` may be
/// `in`. Neighbouring elements need different tables, so vector instructions do not help, and one
/// kernel serves all instruction sets.
void lookup_by_channel(std::span<const std::uint8_t> tables, std::int64_t channels,
                       const std::uint8_t* in, std::uint8_t* out, std::int64_t pixels);

/// The specifications: naive code that is never selected as a kernel.
void reference_lookup(const LookupCall& call);
void reference_lookup_by_channel(const std::uint8_t* tables, std::int64_t channels,
                                 const std::uint8_t* in, std::uint8_t* out, std::int64_t pixels);

}  // namespace qtool
