#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "compare/metrics.h"
#include "compare/quantized_parts.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What rounding did to one tensor; those of several images add up.
struct TensorRounding {
  SqnrSums sums;
  std::int64_t count = 0;
  std::int64_t saturated = 0;  ///< values beyond what the integers stand for
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();  ///< integers in use
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  Range seen;  ///< of the values, and 0

  TensorRounding& operator+=(const TensorRounding& other);
};

/// Where LevelCounts counts the integers of an activation, relative to the zero point.
struct LevelBins {
  explicit LevelBins(const QuantizedActivation& activation);
  std::int32_t steps = 1;  ///< integers that share a bin
  float first = 0.0F;      ///< integer of the first bin
  float last = 0.0F;       ///< integer of the last one
};

/// Counts of values by the integer that they are nearest to, and of those beyond: kBinsInside bins
/// for all integers, and half as many on either side.
class LevelCounts {
 public:
  static constexpr std::int32_t kBinsInside = 256;
  static constexpr std::int32_t kBinsBeyond = kBinsInside / 2;

  /// `level`: a value divided by the scale and rounded. What is no number counts as the lowest.
  void add(const LevelBins& bins, float level) {
    const float kept = std::min(std::max(bins.first, level), bins.last);
    auto bin = static_cast<std::int32_t>(kept - bins.first);
    if (bins.steps > 1) bin /= bins.steps;
    ++counts_[static_cast<std::size_t>(bin)];
  }
  void operator+=(const LevelCounts& other);
  [[nodiscard]] LevelHistogram histogram(const QuantizedActivation& activation) const;

 private:
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(2 * kBinsInside);
};

/// What a share of the values lies in, as many beyond one end as beyond the other; `seen` where an
/// end lies in an outermost bin. Cost: linear in the bins.
Range central_range(const LevelHistogram& histogram, const Range& seen, double share);

/// What each index of axis 1 reaches, as far as it was seen.
using ChannelRanges = std::vector<Range>;

/// Rounds `values` to `out` as a pair of QuantizeLinear and DequantizeLinear does, see
/// quantize_value(). Integers are counted from the zero point. Cost: linear.
TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out, LevelCounts* counts = nullptr);

/// The same for a tensor of the FP32 network, whose channels the INT8 model may divide by factors:
/// they are divided, rounded and multiplied again. The result, `counts` and `channels` tell of the
/// divided ones. Cost: linear.
TensorRounding round_tensor(const QuantizedActivation& activation, const TensorView& tensor,
                            float* out, LevelCounts& counts, ChannelRanges& channels);

/// Widens `channels` to the least and the largest value of each index of axis 1; leaves them empty
/// for a tensor of fewer than three axes. Cost: linear.
void widen_channels(const TensorView& tensor, ChannelRanges& channels);
/// The same to what `other` has seen.
void widen_channels(const ChannelRanges& other, ChannelRanges& channels);

}  // namespace qtool
