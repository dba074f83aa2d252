#pragma once

#include <iterator>
#include <span>
#include <string_view>

#include "kernels/select.h"
#include "kernels/weight_sums/contract.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<WeightSumsFunctions>> weight_sums_kernels() noexcept;

/// Computes the sums that the search for the scale of weights needs. All kernels give the same
/// bits.
class WeightSumsKernel {
 public:
  explicit WeightSumsKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(weight_sums_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// See WeightSumsFunctions::run. Cost: 0.3 ns per weight with AVX-512, 0.4 with AVX2, 1.3
  /// without.
  [[nodiscard]] WeightSumsValues run(std::span<const float> weights,
                                     const WeightSteps& steps) const {
    return row_->functions->run(weights.data(), std::ssize(weights), steps);
  }

 private:
  const KernelRow<WeightSumsFunctions>* row_;
};

/// The specification of run(): weight by weight, rounded by the standard library; never selected as
/// a kernel.
WeightSumsValues reference_weight_sums(std::span<const float> weights, const WeightSteps& steps);

}  // namespace qtool
