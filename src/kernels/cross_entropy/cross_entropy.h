#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "kernels/cross_entropy/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<CrossEntropyFunctions>> cross_entropy_kernels() noexcept;

/// Computes the sums that threshold searches by divergence need for their candidates. All kernels
/// give the same bits.
class CrossEntropyKernel {
 public:
  explicit CrossEntropyKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(cross_entropy_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }
  /// See CrossEntropyFunctions::run. Cost: 7 ns per level with AVX-512, 8 with AVX2, 14 without.
  double run(const LevelledHistogram& histogram, std::int64_t kept, double tail,
             double* scratch) const {
    return row_->functions->run(histogram, kept, tail, scratch);
  }
  /// See CrossEntropyFunctions::logarithms. Cost: 1.5 ns per value with AVX-512.
  void logarithms(std::span<double> values) const {
    row_->functions->logarithms(values.data(), std::ssize(values));
  }

 private:
  const KernelRow<CrossEntropyFunctions>* row_;
};

/// The specification of run(): bin by bin, with the exact logarithm; never selected as a kernel.
/// The results of kernels are within 1e-12 of it.
double reference_cross_entropy(const LevelledHistogram& histogram, std::int64_t kept, double tail);

}  // namespace qtool
