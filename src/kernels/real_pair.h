#pragma once

#include <cstdint>

namespace qtool {

/// What a kernel needs that computes with the real values of two quantized tensors, s (q - z), and
/// quantizes the result with sy and zy, clamped to [low, high].
struct RealPairParams {
  float sa = 1.0F;
  float sb = 1.0F;
  float sy = 1.0F;
  std::int32_t za = 0;
  std::int32_t zb = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

}  // namespace qtool
