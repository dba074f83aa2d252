#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/curve.h"
#include "kernels/output_type.h"

namespace qtool {

/// The number of channels in a block. A kernel call handles one block, so the work is divided into
/// blocks.
inline constexpr std::int64_t kDepthwiseBlock = 64;

/// The weights that a kernel packs: one filter per channel. Weights wider than s8 are sums of
/// `terms` filters.
struct DepthwiseWeights {
  const std::int8_t* values = nullptr;  ///< [term][kernel_h][kernel_w][channel]
  std::int64_t terms = 1;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t channels = 1;
  const std::int32_t* bias = nullptr;    ///< [channel], input zero point folded in
  const float* multiplier = nullptr;     ///< [channel]
  const CurveFactor* factors = nullptr;  ///< [channel]; null: no calls with a curve
};

/// Convolves rows of one image with one filter per channel, and applies the epilogue.
///
/// acc[y][x][c] = bias[c] + sum over term, i, j of
///   input[y stride_h - pad_top + i dilation_h][x stride_w - pad_left + j dilation_w][c] * w,
/// where an input pixel outside the image has the value input_zero_point in every channel.
/// The output follows from acc as in GemmCall. A kernel reads and writes only bytes of the image's
/// channels.
struct DepthwiseCall {
  const std::uint8_t* input = nullptr;
  std::int64_t in_h = 0;
  std::int64_t in_w = 0;
  std::int64_t in_pixel_stride = 0;
  std::int64_t out_w = 0;
  std::int64_t out_pixel_stride = 0;  ///< elements
  std::int64_t channels = 0;

  std::int64_t terms = 1;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t pad_top = 0;
  std::int64_t pad_left = 0;

  std::int64_t row_begin = 0;  ///< output rows
  std::int64_t row_end = 0;
  std::int64_t block = 0;  ///< channels from 64 * block on, at most 64

  const std::byte* packed = nullptr;         ///< written by `pack`
  const std::uint8_t* zero_pixel = nullptr;  ///< 64 readable bytes of input_zero_point
  const float* addend = nullptr;             ///< [channel], float output only
  const float* onto = nullptr;   ///< null: `addend` is added; float output only, as in GemmCall
  std::int64_t onto_stride = 0;  ///< elements between the pixels of `onto`
  OutputType output_type = OutputType::kUInt8;
  void* output = nullptr;  ///< the image's first output pixel
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
  const Curve* curve = nullptr;  ///< u8 output only, as in GemmCall
};

struct DepthwiseFunctions {
  std::int64_t (*packed_bytes)(const DepthwiseWeights& weights);
  void (*pack)(const DepthwiseWeights& weights, std::byte* packed);  ///< 64-byte aligned
  void (*run)(const DepthwiseCall& call);
  std::int64_t rows;  ///< output rows that are cheapest to compute together
};

#define QTOOL_KERNEL(name) extern const DepthwiseFunctions depthwise_##name;
#include "kernels/depthwise/depthwise.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
