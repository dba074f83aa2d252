#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/text.h"
#include "kernels/conv/driver.h"
#include "qtool/base/error.h"
#include "quant/weight_extremes.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxTerms = 3;  // 255 = 127 + 127 + 1

[[noreturn]] void refuse(ErrorCode code, const std::string& message) {
  throw Error(code, to_text("convolution: ", message));
}

void check_extents(const ConvWeights& weights) {
  const std::int64_t extents[] = {weights.out_channels, weights.in_channels, weights.kernel_h,
                                  weights.kernel_w, weights.groups};
  for (const std::int64_t extent : extents) {
    if (extent < 1) refuse(ErrorCode::kInvalidModel, to_text("extent ", extent, " is below 1"));
  }
  if (weights.in_channels % weights.groups != 0 || weights.out_channels % weights.groups != 0) {
    refuse(ErrorCode::kInvalidModel,
           to_text(weights.groups, " groups do not divide ", weights.in_channels, " input and ",
                   weights.out_channels, " output channels"));
  }
  std::int64_t expected = 1;
  const std::int64_t factors[] = {weights.out_channels, weights.in_channels / weights.groups,
                                  weights.kernel_h, weights.kernel_w};
  const auto found = static_cast<std::int64_t>(weights.values.size());
  for (const std::int64_t factor : factors) {
    if (factor > found / expected) {
      refuse(ErrorCode::kInvalidModel,
             to_text("the extents ask for more than the ", found, " weights there are"));
    }
    expected *= factor;
  }
  if (found != expected) {
    refuse(ErrorCode::kInvalidModel,
           to_text("found ", found, " weights, expected ", expected, " from the extents"));
  }
}

void check_parameters(const ConvWeights& weights) {
  const auto outputs = static_cast<std::size_t>(weights.out_channels);
  if (!weights.bias.empty() && weights.bias.size() != outputs) {
    refuse(ErrorCode::kInvalidModel,
           to_text("the bias has ", weights.bias.size(), " elements, expected ", outputs));
  }
  if (!weights.weight_zero_points.empty() && weights.weight_zero_points.size() != outputs) {
    refuse(ErrorCode::kInvalidModel, to_text("there are ", weights.weight_zero_points.size(),
                                             " weight zero points, expected ", outputs));
  }
  if (weights.input_zero_point < 0 || weights.input_zero_point > 255) {
    refuse(ErrorCode::kInvalidModel,
           to_text("the input zero point is ", weights.input_zero_point, ", expected 0 to 255"));
  }
  for (const std::int32_t zero_point : weights.weight_zero_points) {
    if (zero_point < -128 || zero_point > 127) {
      refuse(ErrorCode::kInvalidModel,
             to_text("a weight zero point is ", zero_point, ", expected -128 to 127"));
    }
  }
}

std::int32_t zero_point_of(const ConvWeights& weights, std::size_t channel) {
  return weights.weight_zero_points.empty() ? 0 : weights.weight_zero_points[channel];
}

// The bias with the input zero point folded in, except for what the kernel subtracts from its
// inputs anyway; throws when a sum could exceed int32.
std::int32_t fold_bias(const ConvWeights& weights, std::size_t channel, std::size_t per_channel,
                       std::int32_t input_offset) {
  const std::int64_t bias = weights.bias.empty() ? 0 : weights.bias[channel];
  const std::int32_t zero_point = zero_point_of(weights, channel);
  const WeightExtremes found =
      extremes_of(weights.values.subspan(channel * per_channel, per_channel));
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto depth = static_cast<std::int64_t>(per_channel);
  const std::int64_t largest = found.largest(zero_point);
  const std::int64_t sum = found.sum - depth * zero_point;
  // Divides instead of multiplying, which could overflow: the depth comes from a file.
  if (std::abs(bias) >= kLimit ||
      (largest > 0 && depth > (kLimit - 1 - std::abs(bias)) / (255 * largest))) {
    refuse(ErrorCode::kUnsupported,
           to_text("the sums of output channel ", channel, " (", depth, " products, weights up to ",
                   largest, ", bias ", bias, ") may leave int32"));
  }
  return static_cast<std::int32_t>(bias - (weights.input_zero_point - input_offset) * sum);
}

// The remainder of `weight` after each of `terms` terms has taken the largest part that fits in s8.
std::int32_t rest_after(std::int32_t weight, std::int64_t terms) {
  for (std::int64_t term = 0; term < terms; ++term) weight -= std::clamp(weight, -128, 127);
  return weight;
}

}  // namespace

FoldedWeights fold_weights(const ConvWeights& weights, std::int32_t input_offset) {
  check_extents(weights);
  check_parameters(weights);
  const auto outputs = static_cast<std::size_t>(weights.out_channels);
  const std::size_t per_channel = weights.values.size() / outputs;
  FoldedWeights folded;
  folded.bias.resize(outputs);
  for (std::size_t channel = 0; channel < outputs; ++channel) {
    folded.bias[channel] = fold_bias(weights, channel, per_channel, input_offset);
  }
  const auto is_zero = [](std::int32_t zero_point) { return zero_point == 0; };
  if (std::all_of(weights.weight_zero_points.begin(), weights.weight_zero_points.end(), is_zero)) {
    folded.values = weights.values;
    return folded;
  }
  folded.terms = 0;
  for (bool finished = false; !finished; ++folded.terms) {
    QTOOL_CHECK(folded.terms < kMaxTerms);
    finished = true;
    for (std::size_t i = 0; i < weights.values.size(); ++i) {
      const std::int32_t weight = weights.values[i] - zero_point_of(weights, i / per_channel);
      const std::int32_t rest = rest_after(weight, folded.terms);
      folded.storage.push_back(static_cast<std::int8_t>(std::clamp(rest, -128, 127)));
      finished = finished && rest >= -128 && rest <= 127;
    }
  }
  folded.values = folded.storage;
  return folded;
}

}  // namespace qtool
