#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/observe/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept;

/// Computes the statistics that calibration needs of every activation: sums and extremes per
/// channel, and counts on a grid of equal cells. All kernels give the same bits.
class ObserveKernel {
 public:
  explicit ObserveKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(observe_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }

  /// See ObserveFunctions::accumulate. Cost: about 0.15 ns per value at 2.5 GHz with AVX-512.
  Seen accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                  const Ahead& ahead = {}) const {
    return row_->functions->accumulate(values, pixels, totals, ahead);
  }

  /// For every value that is not zero, adds one to the counter of its cell. Returns the number of
  /// zeros. ObserveFunctions::cells defines cells (which may be negative), zeros and `signs`. Cost:
  /// about 0.1 ns per value and 0.7 ns per value that is not zero.
  std::int64_t count(const float* values, std::int64_t count, float cells_per_unit, Signs signs,
                     std::uint16_t* counters) const;

 private:
  const KernelRow<ObserveFunctions>* row_;
};

/// The specification: naive code that is never selected as a kernel.
Seen reference_accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals);
std::int64_t reference_cells(const float* values, std::int64_t count, float cells_per_unit,
                             std::int32_t* cells);

}  // namespace qtool
