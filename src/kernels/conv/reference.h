#pragma once

#include <cstdint>
#include <span>

#include "kernels/conv/conv.h"

namespace qtool {

/// The specification of PackedConv: naive code that is never selected as a kernel.
void reference_conv(const ConvWeights& weights, const Epilogue& epilogue, const ConvShape& shape,
                    const std::uint8_t* input, std::uint8_t* output,
                    const std::uint8_t* residual = nullptr);
void reference_conv(const ConvWeights& weights, std::span<const float> dequantize_scale,
                    std::span<const float> float_bias, const ConvShape& shape,
                    const std::uint8_t* input, float* output, const float* base = nullptr);

/// Computes the int32 sums, without an epilogue.
void reference_conv(const ConvWeights& weights, const ConvShape& shape, const std::uint8_t* input,
                    std::int32_t* output);

}  // namespace qtool
