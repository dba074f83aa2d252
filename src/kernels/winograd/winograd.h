#pragma once

#include <span>
#include <string_view>

#include "kernels/select.h"
#include "kernels/winograd/contract.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<WinogradFunctions>> winograd_kernels() noexcept;

/// The changes of numbers before and behind the products of Winograd's method. All kernels give the
/// same bits.
class WinogradKernel {
 public:
  explicit WinogradKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(winograd_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  void source(const WinogradSource& tile) const { row_->functions->source(tile); }
  void result(const WinogradResult& tile) const { row_->functions->result(tile); }

 private:
  const KernelRow<WinogradFunctions>* row_;
};

/// G g G^T in double for one filter of 3x3 weights, row by row.
void winograd_weights(const double (&filter)[9], double (&places)[kWinogradPlaces]);

/// The specification, matrix by matrix in double; never selected as a kernel. For numbers of at
/// most 1, the results of kernels are within 2e-5 of it.
void reference_winograd_source(const WinogradSource& tile);
void reference_winograd_result(const WinogradResult& tile);

}  // namespace qtool
