#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/round_up.h"
#include "kernels/curve_byte.h"
#include "kernels/depthwise/contract.h"
#include "kernels/round_to_u8.h"

namespace qtool {
namespace {

// The packed order, per block of 64 channels: bias, multiplier, factor, then the weights of the
// taps. All are padded to 64 channels.
constexpr std::int64_t kHeaderBytes = kDepthwiseBlock * (4 + 4 + 4);

std::int64_t block_bytes(std::int64_t taps) { return kHeaderBytes + taps * kDepthwiseBlock; }

std::int64_t packed_bytes(const DepthwiseWeights& weights) {
  const std::int64_t blocks = ceil_div(weights.channels, kDepthwiseBlock);
  return blocks * block_bytes(weights.terms * weights.kernel_h * weights.kernel_w);
}

void copy(std::byte* to, const void* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void pack(const DepthwiseWeights& weights, std::byte* packed) {
  const std::int64_t taps = weights.terms * weights.kernel_h * weights.kernel_w;
  std::fill_n(packed, packed_bytes(weights), std::byte{0});
  for (std::int64_t begin = 0; begin < weights.channels; begin += kDepthwiseBlock) {
    const std::int64_t count = std::min(kDepthwiseBlock, weights.channels - begin);
    copy(packed, weights.bias + begin, count * 4);
    copy(packed + kDepthwiseBlock * 4, weights.multiplier + begin, count * 4);
    if (weights.factors != nullptr) {
      copy(packed + kDepthwiseBlock * 8, weights.factors + begin, count * 4);
    }
    std::byte* values = packed + kHeaderBytes;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      copy(values + tap * kDepthwiseBlock, weights.values + tap * weights.channels + begin, count);
    }
    packed += block_bytes(taps);
  }
}

struct Block {
  std::int32_t bias[kDepthwiseBlock];
  float multiplier[kDepthwiseBlock];
  CurveFactor factors[kDepthwiseBlock];
};

void add_block(const DepthwiseCall& call, const std::byte* values, std::int64_t y, std::int64_t x,
               std::int64_t count, std::int32_t* acc) {
  const auto* weight = reinterpret_cast<const std::int8_t*>(values);
  for (std::int64_t term = 0; term < call.terms; ++term) {
    for (std::int64_t i = 0; i < call.kernel_h; ++i) {
      const std::int64_t in_y = y * call.stride_h - call.pad_top + i * call.dilation_h;
      for (std::int64_t j = 0; j < call.kernel_w; ++j, weight += kDepthwiseBlock) {
        const std::int64_t in_x = x * call.stride_w - call.pad_left + j * call.dilation_w;
        const bool inside = in_y >= 0 && in_y < call.in_h && in_x >= 0 && in_x < call.in_w;
        const std::uint8_t* pixel = inside ? call.input +
                                                 (in_y * call.in_w + in_x) * call.in_pixel_stride +
                                                 call.block * kDepthwiseBlock
                                           : call.zero_pixel;
        for (std::int64_t c = 0; c < count; ++c) acc[c] += std::int32_t{pixel[c]} * weight[c];
      }
    }
  }
}

void store_block(const DepthwiseCall& call, const Block& block, std::int64_t pixel,
                 std::int64_t count, const std::int32_t* acc) {
  const std::int64_t first = call.block * kDepthwiseBlock;
  const std::int64_t at = pixel * call.out_pixel_stride + first;
  const float* addend = call.onto == nullptr ? call.addend : call.onto + pixel * call.onto_stride;
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int32_t sum = acc[c] + block.bias[c];
    if (call.output_type == OutputType::kInt32) {
      static_cast<std::int32_t*>(call.output)[at + c] = sum;
      continue;
    }
    const float product = static_cast<float>(sum) * block.multiplier[c];
    if (call.output_type == OutputType::kFloat32) {
      static_cast<float*>(call.output)[at + c] = product + addend[first + c];
    } else {
      static_cast<std::uint8_t*>(call.output)[at + c] =
          call.curve != nullptr
              ? curve_byte(*call.curve, sum, block.multiplier[c], block.factors[c])
              : round_to_u8(product, call.zero_point, call.low, call.high);
    }
  }
}

void run_depthwise(const DepthwiseCall& call) {
  const std::int64_t taps = call.terms * call.kernel_h * call.kernel_w;
  const std::byte* packed = call.packed + call.block * block_bytes(taps);
  Block block;
  std::memcpy(&block, packed, sizeof block);
  const std::int64_t first = call.block * kDepthwiseBlock;
  const std::int64_t count = std::min(kDepthwiseBlock, call.channels - first);
  for (std::int64_t y = call.row_begin; y < call.row_end; ++y) {
    for (std::int64_t x = 0; x < call.out_w; ++x) {
      std::int32_t acc[kDepthwiseBlock] = {};
      add_block(call, packed + kHeaderBytes, y, x, count, acc);
      store_block(call, block, y * call.out_w + x, count, acc);
    }
  }
}

}  // namespace

constexpr DepthwiseFunctions depthwise_portable = {packed_bytes, pack, run_depthwise, 1};

}  // namespace qtool
