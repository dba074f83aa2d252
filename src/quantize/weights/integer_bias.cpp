#include "quantize/weights/integer_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtool {
namespace {

constexpr double kBiasLimit = 1073741824.0;  // 2^30: half of int32

/// The largest bias for which the sum of the bias and `depth` products of u8 and weights fits
/// int32.
double bias_limit(std::int64_t depth, std::int32_t magnitude) {
  const double room = 2147483647.0 - 255.0 * magnitude * static_cast<double>(depth);
  return std::clamp(0.999 * room, 1.0, kBiasLimit);
}

bool is_normal_scale(double scale) {
  return scale >= std::numeric_limits<float>::min() && scale <= std::numeric_limits<float>::max();
}

}  // namespace

std::vector<float> fit_scales(std::vector<float> scales, std::span<const float> bias,
                              float input_scale, std::int64_t depth, std::int32_t magnitude) {
  const double limit = bias_limit(depth, magnitude);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double least = std::abs(static_cast<double>(bias[c])) / (input_scale * limit);
    float& scale = scales[scales.size() == 1 ? 0 : c];
    scale = std::max(scale, static_cast<float>(least));
  }
  for (float& scale : scales) {
    if (!is_normal_scale(scale) || !is_normal_scale(static_cast<double>(scale) * input_scale)) {
      scale = 1.0F;
    }
  }
  return scales;
}

std::vector<float> bias_scales(std::span<const float> weight_scales, std::size_t channels,
                               float input_scale) {
  std::vector<float> scales(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scales[c] = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : c];
  }
  return scales;
}

Tensor quantize_bias(std::span<const float> bias, std::span<const float> scales) {
  Tensor quantized(DType::kInt32, Shape{static_cast<std::int64_t>(bias.size())});
  const auto to = quantized.values<std::int32_t>();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double exact = std::nearbyint(static_cast<double>(bias[c]) / scales[c]);
    to[c] = static_cast<std::int32_t>(std::clamp(exact, -kBiasLimit, kBiasLimit));
  }
  return quantized;
}

}  // namespace qtool
