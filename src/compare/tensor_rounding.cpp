#include "compare/tensor_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/strides.h"
#include "quantize/rewrites/scaled_channels.h"

namespace qtool {

TensorRounding& TensorRounding::operator+=(const TensorRounding& other) {
  sums += other.sums;
  count += other.count;
  saturated += other.saturated;
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  seen = {std::min(seen.min, other.seen.min), std::max(seen.max, other.seen.max)};
  return *this;
}

LevelBins::LevelBins(const QuantizedActivation& activation) {
  const std::int32_t integers = activation.limits.max - activation.limits.min + 1;
  steps = std::max(1, integers / LevelCounts::kBinsInside);
  const std::int32_t lowest = activation.limits.min - activation.affine.zero_point;
  first = static_cast<float>(lowest - steps * LevelCounts::kBinsBeyond);
  last = first + static_cast<float>(2 * steps * LevelCounts::kBinsInside - 1);
}

void LevelCounts::operator+=(const LevelCounts& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

LevelHistogram LevelCounts::histogram(const QuantizedActivation& activation) const {
  const LevelBins bins(activation);
  const auto scale = static_cast<double>(activation.affine.scale);
  return {scale * (static_cast<double>(bins.first) - 0.5), scale * bins.steps, counts_};
}

Range central_range(const LevelHistogram& histogram, const Range& seen, double share) {
  double all = 0.0;
  for (const std::int64_t count : histogram.counts) all += static_cast<double>(count);
  const double beyond = 0.5 * (1.0 - share) * all;
  const std::size_t bins = histogram.counts.size();
  const auto end = [&](auto bin_of) {
    double passed = 0.0;
    for (std::size_t i = 0; i < bins; ++i) {
      passed += static_cast<double>(histogram.counts[bin_of(i)]);
      if (passed > beyond) return bin_of(i);
    }
    return bin_of(0);
  };
  const std::size_t low = end([](std::size_t i) { return i; });
  const std::size_t high = end([bins](std::size_t i) { return bins - 1 - i; });
  const auto middle = [&](std::size_t bin) {
    return static_cast<float>(histogram.first + histogram.width * (static_cast<double>(bin) + 0.5));
  };
  // The extreme values may lie nearer than the middle of the bin.
  return {low == 0 ? seen.min : std::max(middle(low), seen.min),
          high + 1 == bins ? seen.max : std::min(middle(high), seen.max)};
}

TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out, LevelCounts* counts) {
  TensorRounding result;
  result.count = std::ssize(values);
  const auto lowest = static_cast<float>(activation.limits.min - activation.affine.zero_point);
  const auto highest = static_cast<float>(activation.limits.max - activation.affine.zero_point);
  float least = highest;
  float most = lowest;
  Range seen;
  std::int64_t saturated = 0;
  double signal = 0.0;
  double noise = 0.0;
  const LevelBins bins(activation);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    const float clipped = std::min(std::max(x, activation.low), activation.high);
    const float level = std::nearbyint(clipped / activation.affine.scale);
    if (counts != nullptr) {
      counts->add(bins, clipped == x ? level : std::nearbyint(x / activation.affine.scale));
    }
    const float kept = std::min(std::max(level, lowest), highest);
    saturated += static_cast<std::int64_t>(kept != level || clipped != x);
    least = std::min(least, kept);
    most = std::max(most, kept);
    seen.min = std::min(seen.min, x);
    seen.max = std::max(seen.max, x);
    const float y = kept * activation.affine.scale;
    out[i] = y;
    signal += double{x} * double{x};
    noise += (double{x} - double{y}) * (double{x} - double{y});
  }
  result.saturated = saturated;
  result.sums = {signal, noise};
  result.seen = seen;
  if (!values.empty()) {
    result.lowest = static_cast<std::int32_t>(least);
    result.highest = static_cast<std::int32_t>(most);
  }
  return result;
}

void widen_channels(const ChannelRanges& other, ChannelRanges& channels) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  channels.resize(std::max(channels.size(), other.size()), Range{kNone, -kNone});
  for (std::size_t c = 0; c < other.size(); ++c) {
    channels[c] = {std::min(channels[c].min, other[c].min),
                   std::max(channels[c].max, other[c].max)};
  }
}

void widen_channels(const TensorView& tensor, std::int64_t axis, ChannelRanges& channels) {
  const Shape& shape = tensor.shape;
  if (shape.rank() < 3 || shape.elements() == 0) return;
  const auto count = static_cast<std::size_t>(shape[axis]);
  constexpr float kNone = std::numeric_limits<float>::infinity();
  channels.resize(count, Range{kNone, -kNone});
  const std::span<const float> values = tensor.values<float>();
  const auto inner = static_cast<std::size_t>(stride_of(shape, tensor.layout, axis));
  for (std::size_t begin = 0; begin < values.size(); begin += count * inner) {
    for (std::size_t c = 0; c < count; ++c) {
      Range reached = channels[c];
      for (std::size_t i = 0; i < inner; ++i) {
        const float x = values[begin + c * inner + i];
        reached.min = std::min(reached.min, x);
        reached.max = std::max(reached.max, x);
      }
      channels[c] = reached;
    }
  }
}

TensorRounding round_tensor(const QuantizedActivation& activation, const TensorView& tensor,
                            float* out, LevelCounts& counts, ChannelRanges& channels) {
  const auto& [axis, factors] = activation.divided;
  if (factors.empty()) {
    const std::int64_t last = tensor.shape.rank() - 1;
    widen_channels(tensor, activation.channels_last ? last : 1, channels);
    return round_values(activation, tensor.values<float>(), out, &counts);
  }
  ChannelScaling reciprocals{axis, {}};
  for (const double factor : factors) reciprocals.factors.push_back(1.0 / factor);
  const std::span<const float> values = tensor.values<float>();
  std::ranges::copy(values, out);
  scale_channels(tensor, activation.tensor, reciprocals, out);
  TensorView divided = tensor;
  divided.data = reinterpret_cast<const std::byte*>(out);
  widen_channels(divided, axis, channels);
  const TensorRounding result = round_values(activation, {out, values.size()}, out, &counts);
  scale_channels(tensor, activation.tensor, activation.divided, out);
  return result;
}

}  // namespace qtool
