#include <algorithm>
#include <cstdint>

#include "kernels/curve_byte.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

std::int32_t depthwise_sum(const DepthwiseWeights& weights, const DepthwiseCall& call,
                           std::int64_t y, std::int64_t x, std::int64_t channel) {
  std::int64_t sum = weights.bias[channel];
  const std::int8_t* weight = weights.values + channel;
  for (std::int64_t term = 0; term < weights.terms; ++term) {
    for (std::int64_t i = 0; i < weights.kernel_h; ++i) {
      for (std::int64_t j = 0; j < weights.kernel_w; ++j, weight += weights.channels) {
        const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
        const std::int64_t in_x = x * call.stride_w - call.pad_left + j * call.dilation_w;
        const bool inside = in_y >= 0 && in_y < call.in_h && in_x >= 0 && in_x < call.in_w;
        const std::int64_t at = (in_y * call.in_w + in_x) * call.in_pixel_stride + channel;
        sum += std::int64_t{inside ? call.input[at] : call.zero_pixel[0]} * *weight;
      }
    }
  }
  return static_cast<std::int32_t>(sum);
}

}  // namespace

void reference_depthwise(const DepthwiseWeights& weights, const DepthwiseCall& call) {
  const std::int64_t begin = call.block * kDepthwiseBlock;
  const std::int64_t end = std::min(call.channels, begin + kDepthwiseBlock);
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    for (std::int64_t x = 0; x < call.out_w; ++x) {
      for (std::int64_t c = begin; c < end; ++c) {
        const std::int64_t at = (y * call.out_w + x) * call.out_pixel_stride + c;
        const std::int32_t sum = depthwise_sum(weights, call, y, x, c);
        if (call.output_type == OutputType::kInt32) {
          static_cast<std::int32_t*>(call.output)[at] = sum;
          continue;
        }
        const float product = static_cast<float>(sum) * weights.multiplier[c];
        if (call.output_type == OutputType::kFloat32) {
          const std::int64_t pixel = y * call.out_w + x;
          static_cast<float*>(call.output)[at] =
              product +
              (call.onto == nullptr ? call.addend[c] : call.onto[pixel * call.onto_stride + c]);
          continue;
        }
        static_cast<std::uint8_t*>(call.output)[at] =
            call.curve != nullptr
                ? curve_byte(*call.curve, sum, weights.multiplier[c], weights.factors[c])
                : round_to_u8(product, call.zero_point, call.low, call.high);
      }
    }
  }
}

}  // namespace qtool
