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

/// The effect of rounding on one tensor. The results of several images can be added up.
struct TensorRounding {
  SqnrSums sums;
  std::int64_t count = 0;
  std::int64_t saturated = 0;  ///< values outside the range of the integers
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();  ///< lowest integer in use
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  Range seen;  ///< range of the values and 0

  TensorRounding& operator+=(const TensorRounding& other);
};

/// The bins of LevelCounts for an activation. Integers are relative to the zero point.
struct LevelBins {
  explicit LevelBins(const QuantizedActivation& activation);
  std::int32_t steps = 1;  ///< integers that share a bin
  float first = 0.0F;      ///< lowest integer of the first bin
  float last = 0.0F;       ///< highest integer of the last bin
};

/// Counts values by their nearest integer. kBinsInside bins hold the integers of the type;
/// kBinsBeyond bins on either side hold values outside its range.
class LevelCounts {
 public:
  static constexpr std::int32_t kBinsInside = 256;
  static constexpr std::int32_t kBinsBeyond = kBinsInside / 2;

  /// `level`: a value divided by the scale and rounded. NaN counts as the lowest level.
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

/// The range that holds `share` of the values, with equal numbers of values beyond either end. An
/// end that lies in an outermost bin is taken from `seen`. Cost: linear in the bins.
Range central_range(const LevelHistogram& histogram, const Range& seen, double share);

/// The range of the values that were seen in each channel.
using ChannelRanges = std::vector<Range>;

/// Rounds `values` to `out` as a pair of QuantizeLinear and DequantizeLinear does, see
/// quantize_value(). The integers of the result are relative to the zero point. Cost: linear.
TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out, LevelCounts* counts = nullptr);

/// round_values() for a tensor of the FP32 network. If the INT8 model divides its channels by
/// factors, they are divided, rounded and multiplied by the factors again. The result, `counts` and
/// `channels` describe the divided values. Cost: linear.
TensorRounding round_tensor(const QuantizedActivation& activation, const TensorView& tensor,
                            float* out, LevelCounts& counts, ChannelRanges& channels);

/// Widens `channels` to include the least and the largest value at each index of `axis`. Does
/// nothing for a tensor with fewer than three axes. Cost: linear.
void widen_channels(const TensorView& tensor, std::int64_t axis, ChannelRanges& channels);
/// Widens `channels` to the ranges of `other`.
void widen_channels(const ChannelRanges& other, ChannelRanges& channels);

}  // namespace qtool
