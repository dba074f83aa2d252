#include "measure/tensor_rounding.h"

#include <algorithm>
#include <cmath>

#include "quantize/scaled_channels.h"

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

TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out) {
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
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    const float clipped = std::min(std::max(x, activation.low), activation.high);
    const float level = std::nearbyint(clipped / activation.affine.scale);
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

void raise_peaks(const TensorView& tensor, std::vector<float>& peaks) {
  const Shape& shape = tensor.shape;
  if (shape.rank() < 3 || shape.elements() == 0) return;
  const auto channels = static_cast<std::size_t>(shape[1]);
  peaks.resize(channels, 0.0F);
  const std::span<const float> values = tensor.values<float>();
  const std::size_t inner = tensor.layout == Layout::kChannelsLast
                                ? 1
                                : values.size() / static_cast<std::size_t>(shape[0]) / channels;
  for (std::size_t begin = 0; begin < values.size(); begin += channels * inner) {
    for (std::size_t c = 0; c < channels; ++c) {
      float peak = peaks[c];
      for (std::size_t i = 0; i < inner; ++i) {
        peak = std::max(peak, std::abs(values[begin + c * inner + i]));
      }
      peaks[c] = peak;
    }
  }
}

TensorRounding round_tensor(const QuantizedActivation& activation, const TensorView& tensor,
                            float* out, std::vector<float>& peaks) {
  const std::vector<double>& factors = activation.factors;
  if (factors.empty()) {
    raise_peaks(tensor, peaks);
    return round_values(activation, tensor.values<float>(), out);
  }
  std::vector<double> reciprocals;
  for (const double factor : factors) reciprocals.push_back(1.0 / factor);
  const std::span<const float> values = tensor.values<float>();
  std::ranges::copy(values, out);
  scale_channels(tensor, activation.tensor, reciprocals, out);
  TensorView divided = tensor;
  divided.data = reinterpret_cast<const std::byte*>(out);
  raise_peaks(divided, peaks);
  const TensorRounding result = round_values(activation, {out, values.size()}, out);
  scale_channels(tensor, activation.tensor, factors, out);
  return result;
}

}  // namespace qtool
