#pragma once

#include <cstdint>

namespace qtool {

/// The product of two quantized tensors:
/// q = clamp(rint(float((qa - za) * (qb - zb)) * m) + zy, low, high), ties to even.
struct MulParams {
  float m = 1.0F;  ///< s_a s_b / s_y
  std::int32_t za = 0;
  std::int32_t zb = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

struct MulFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const MulParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const MulFunctions mul_##name;
#include "kernels/mul/mul.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
