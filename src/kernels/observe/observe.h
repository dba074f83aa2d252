#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/observe/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<ObserveFunctions>> observe_kernels() noexcept;

/// What calibration does with every value of an activation: sums and extremes per channel, and a
/// count on a grid of equal cells. All kernels give the same bits.
class ObserveKernel {
 public:
  explicit ObserveKernel(const KernelSelection& selection = {})
      : row_(&select_kernel(observe_kernels(), selection)) {}

  [[nodiscard]] std::string_view kernel() const { return row_->name; }

  /// As ObserveFunctions::accumulate. Cost: about 0.15 ns per value at 2.5 GHz with AVX-512.
  Seen accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                  const Ahead& ahead = {}) const {
    return row_->functions->accumulate(values, pixels, totals, ahead);
  }

  /// Adds one to the counter of the cell of every value that is not zero and returns the number of
  /// zeros; cells (which may be negative), zeros and `signs` are as for ObserveFunctions::cells.
  /// Cost: about 0.1 ns per value and 0.7 ns per value that is not zero.
  std::int64_t count(const float* values, std::int64_t count, float cells_per_unit, Signs signs,
                     std::uint16_t* counters) const;

 private:
  const KernelRow<ObserveFunctions>* row_;
};

/// The specification: naive, never dispatched.
Seen reference_accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals);
std::int64_t reference_cells(const float* values, std::int64_t count, float cells_per_unit,
                             std::int32_t* cells);

}  // namespace qtool
