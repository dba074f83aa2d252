#include "kernels/conv/reference.h"

#include "kernels/curve_byte.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

struct OutputElement {
  std::int64_t image, y, x, channel;
};

std::int64_t conv_sum(const ConvWeights& weights, const ConvShape& shape, const std::uint8_t* input,
                      const OutputElement& at) {
  const auto channel = static_cast<std::size_t>(at.channel);
  const std::int64_t depth = weights.in_channels / weights.groups;
  const std::int64_t group = at.channel / (weights.out_channels / weights.groups);
  const std::int64_t stride =
      shape.in_pixel_stride == 0 ? weights.in_channels : shape.in_pixel_stride;
  const std::int32_t zero_point =
      weights.weight_zero_points.empty() ? 0 : weights.weight_zero_points[channel];
  std::int64_t sum = weights.bias.empty() ? 0 : weights.bias[channel];
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < weights.kernel_h; ++i) {
      for (std::int64_t j = 0; j < weights.kernel_w; ++j) {
        const std::int64_t y = at.y * shape.stride_h - shape.pad_top + i * shape.dilation_h;
        const std::int64_t x = at.x * shape.stride_w - shape.pad_left + j * shape.dilation_w;
        const bool inside = y >= 0 && y < shape.in_h && x >= 0 && x < shape.in_w;
        if (!inside && !shape.padding) continue;
        const std::int64_t pixel = (at.image * shape.in_h + y) * shape.in_w + x;
        const std::int64_t value =
            inside ? input[pixel * stride + group * depth + k] : *shape.padding;
        const std::int64_t index =
            ((at.channel * depth + k) * weights.kernel_h + i) * weights.kernel_w + j;
        const std::int64_t weight = weights.values[static_cast<std::size_t>(index)];
        sum += (value - weights.input_zero_point) * (weight - zero_point);
      }
    }
  }
  return sum;
}

template <typename Finish>
void for_each_output(const ConvWeights& weights, const ConvShape& shape, const std::uint8_t* input,
                     const Finish& finish) {
  const std::int64_t stride =
      shape.out_pixel_stride == 0 ? weights.out_channels : shape.out_pixel_stride;
  for (std::int64_t image = 0; image < shape.batch; ++image) {
    for (std::int64_t y = 0; y < shape.out_h; ++y) {
      for (std::int64_t x = 0; x < shape.out_w; ++x) {
        for (std::int64_t c = 0; c < weights.out_channels; ++c) {
          const std::int64_t acc = conv_sum(weights, shape, input, {image, y, x, c});
          const std::int64_t pixel = (image * shape.out_h + y) * shape.out_w + x;
          finish(static_cast<std::int32_t>(acc), static_cast<std::size_t>(c), pixel * stride + c);
        }
      }
    }
  }
}

}  // namespace

void reference_conv(const ConvWeights& weights, const Epilogue& epilogue, const ConvShape& shape,
                    const std::uint8_t* input, std::uint8_t* output, const std::uint8_t* residual) {
  for_each_output(
      weights, shape, input, [&](std::int32_t acc, std::size_t channel, std::int64_t at) {
        if (epilogue.curve) {
          output[at] =
              curve_byte(*epilogue.curve, acc, epilogue.multiplier[channel],
                         epilogue.factors.empty() ? CurveFactor() : epilogue.factors[channel]);
          return;
        }
        const bool negative = acc < 0 && !epilogue.negative.empty();
        float real = static_cast<float>(acc) *
                     (negative ? epilogue.negative[channel] : epilogue.multiplier[channel]);
        if (epilogue.residual) {
          const Residual& added = *epilogue.residual;
          const std::int64_t stride =
              shape.out_pixel_stride == 0 ? weights.out_channels : shape.out_pixel_stride;
          const std::int32_t q = residual[at / stride * weights.out_channels + at % stride];
          real += static_cast<float>(q - added.zero_point) * added.multiplier;
        }
        output[at] = round_to_u8(real, epilogue.zero_point, epilogue.low, epilogue.high);
      });
}

void reference_conv(const ConvWeights& weights, std::span<const float> dequantize_scale,
                    std::span<const float> float_bias, const ConvShape& shape,
                    const std::uint8_t* input, float* output, const float* base) {
  const std::int64_t stride =
      shape.out_pixel_stride == 0 ? weights.out_channels : shape.out_pixel_stride;
  for_each_output(weights, shape, input,
                  [&](std::int32_t acc, std::size_t channel, std::int64_t at) {
                    const float product = static_cast<float>(acc) * dequantize_scale[channel];
                    output[at] = float_bias.empty() ? product : product + float_bias[channel];
                    if (base != nullptr)
                      output[at] += base[at / stride * weights.out_channels + at % stride];
                  });
}

void reference_conv(const ConvWeights& weights, const ConvShape& shape, const std::uint8_t* input,
                    std::int32_t* output) {
  for_each_output(
      weights, shape, input,
      [&](std::int32_t acc, std::size_t /*channel*/, std::int64_t at) { output[at] = acc; });
}

}  // namespace qtool
