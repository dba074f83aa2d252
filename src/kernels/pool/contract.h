#pragma once

#include <cstdint>

namespace qtool {

/// Pixels of one output row whose windows have the same taps inside the image. Tap t of pixel p is
/// at base + p * in_step + offsets[t].
struct PoolCall {
  const std::uint8_t* base = nullptr;
  const std::int64_t* offsets = nullptr;  ///< [taps]
  std::int64_t taps = 1;                  ///< at least 1, at most 2^23
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  std::int64_t in_step = 0;
  std::uint8_t* out = nullptr;
  std::int64_t out_step = 0;

  // For averages: q = clamp(rint(float(sum - offset) * multiplier) + zero_point, low, high).
  std::int32_t offset = 0;  ///< taps * input zero point
  float multiplier = 1.0F;
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

struct PoolFunctions {
  void (*max)(const PoolCall& call);
  void (*average)(const PoolCall& call);
};

#define QTOOL_KERNEL(name) extern const PoolFunctions pool_##name;
#include "kernels/pool/pool.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
