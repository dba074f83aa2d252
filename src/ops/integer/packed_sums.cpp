#include "ops/integer/packed_sums.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace qtool {

PackedSums pack_sums(ConvWeights weights) {
  if (std::all_of(weights.weight_zero_points.begin(), weights.weight_zero_points.end(),
                  [](std::int32_t z) { return z == 0; })) {
    weights.weight_zero_points = {};
  }
  const auto outputs = static_cast<std::size_t>(weights.out_channels);
  const std::size_t depth = weights.values.size() / outputs;
  std::vector<std::int32_t> sums(outputs);
  for (std::size_t c = 0; c < outputs; ++c) {
    const auto row = weights.values.subspan(c * depth, depth);
    sums[c] = std::accumulate(row.begin(), row.end(), std::int32_t{0});
    if (!weights.weight_zero_points.empty()) {
      sums[c] -= static_cast<std::int32_t>(depth) * weights.weight_zero_points[c];
    }
  }
  return {PackedConv::of_sums(weights), std::move(sums)};
}

bool sums_fit(std::span<const std::int8_t> values, std::span<const std::int32_t> zero_points,
              std::int64_t depth) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t zero_point =
        zero_points.empty() ? 0 : zero_points[i / static_cast<std::size_t>(depth)];
    largest = std::max(largest, std::abs(values[i] - zero_point));
  }
  return depth * 255 * largest < std::int64_t{1} << 31;
}

}  // namespace qtool
