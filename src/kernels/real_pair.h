#pragma once

#include <cstdint>

namespace qtool {

/// The parameters of kernels that compute with the real values s (q - z) of two quantized tensors a
/// and b. The result is quantized with sy and zy and clamped to [low, high].
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
