#include "compare/tensor_rounding.h"

#include <algorithm>
#include <cstring>
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

namespace {

// Vectors of four values, on every machine: they need no particular instruction set.
constexpr std::size_t kRoundingLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));

// NaN stays NaN.
Floats raise(Floats x, float least) { return x < least ? Floats{} + least : x; }
Floats lower(Floats x, float most) { return x > most ? Floats{} + most : x; }

/// round_values() for four values at a time. Each sum is made of four sums, one per lane.
class LaneRounding {
 public:
  LaneRounding(const QuantizedActivation& activation, LevelCounts* counts)
      : activation_(activation),
        counts_(counts),
        bins_(activation),
        lowest_(static_cast<float>(activation.limits.min - activation.affine.zero_point)),
        highest_(static_cast<float>(activation.limits.max - activation.affine.zero_point)) {}

  /// Rounds `count` values, 1 to 4.
  [[gnu::always_inline]] inline void add(const float* values, std::size_t count, float* out) {
    // The lanes behind the values hold the last value, which changes no extreme.
    float four[kRoundingLanes];
    for (std::size_t i = 0; i < kRoundingLanes; ++i) four[i] = values[std::min(i, count - 1)];
    Floats x;
    std::memcpy(&x, four, sizeof(x));
    const Floats clipped = lower(raise(x, activation_.low), activation_.high);
    const Floats level = level_of(clipped);
    const Floats kept = lower(raise(level, lowest_), highest_);
    least_ = kept < least_ ? kept : least_;
    most_ = kept > most_ ? kept : most_;
    seen_min_ = x < seen_min_ ? x : seen_min_;
    seen_max_ = x > seen_max_ ? x : seen_max_;
    const Floats y = kept * activation_.affine.scale;
    std::memcpy(out, &y, count * sizeof(float));
    if (counts_ != nullptr) {
      const Floats counted = level_of(x);
      for (std::size_t i = 0; i < count; ++i) counts_->add(bins_, counted[i]);
    }
    Ints differs = (kept != level) | (clipped != x);  // -1 where true
    Doubles signal = __builtin_convertvector(x, Doubles);
    Doubles noise = signal - __builtin_convertvector(y, Doubles);
    for (std::size_t i = count; i < kRoundingLanes; ++i) {
      differs[i] = 0;
      signal[i] = 0.0;
      noise[i] = 0.0;
    }
    saturated_ -= differs;
    signal_ += signal * signal;
    noise_ += noise * noise;
  }

  /// Adds what the lanes hold to `result`.
  void finish(TensorRounding& result) const {
    float least = highest_;
    float most = lowest_;
    for (std::size_t i = 0; i < kRoundingLanes; ++i) {
      result.saturated += saturated_[i];
      result.sums.signal += signal_[i];
      result.sums.noise += noise_[i];
      result.seen = {std::min(result.seen.min, seen_min_[i]),
                     std::max(result.seen.max, seen_max_[i])};
      least = std::min(least, least_[i]);
      most = std::max(most, most_[i]);
    }
    result.lowest = std::min(result.lowest, static_cast<std::int32_t>(least));
    result.highest = std::max(result.highest, static_cast<std::int32_t>(most));
  }

 private:
  /// The nearest levels, ties to even. Levels beyond the bins become those of the outermost bins,
  /// which are beyond the integers of the type. So their magnitude is far below 2^22, and adding
  /// and subtracting 1.5 * 2^23 rounds them.
  [[nodiscard]] Floats level_of(Floats x) const {
    constexpr float kRound = 12582912.0F;
    return (lower(raise(x / activation_.affine.scale, bins_.first), bins_.last) + kRound) - kRound;
  }

  const QuantizedActivation& activation_;
  LevelCounts* counts_;
  LevelBins bins_;
  float lowest_;
  float highest_;
  Floats least_ = Floats{} + highest_;
  Floats most_ = Floats{} + lowest_;
  Floats seen_min_{};
  Floats seen_max_{};
  Ints saturated_{};
  Doubles signal_{};
  Doubles noise_{};
};

// So many values per lane cannot overflow a count of 32 bits.
constexpr std::size_t kMostRounded = std::size_t{1} << 30;

}  // namespace

TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out, LevelCounts* counts) {
  TensorRounding result;
  result.count = std::ssize(values);
  for (std::size_t begin = 0; begin < values.size(); begin += kMostRounded) {
    const std::size_t end = std::min(values.size(), begin + kMostRounded);
    LaneRounding rounding(activation, counts);
    std::size_t i = begin;
    // Compiled for itself: with a constant count, the loads and stores are of whole vectors.
    for (; i + kRoundingLanes <= end; i += kRoundingLanes) {
      rounding.add(&values[i], kRoundingLanes, out + i);
    }
    if (i < end) rounding.add(&values[i], end - i, out + i);
    rounding.finish(result);
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
