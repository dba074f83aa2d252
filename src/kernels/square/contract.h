#pragma once

#include <cstdint>

namespace qtool {

/// The squared difference of two quantized tensors, with the bits of the real one:
/// d = float(qa - za) * sa - float(qb - zb) * sb and
/// q = clamp(rint(d * d / sy) + zy, low, high), ties to even, every operation rounded to float.
struct SquareParams {
  float sa = 1.0F;
  float sb = 1.0F;
  float sy = 1.0F;
  std::int32_t za = 0;
  std::int32_t zb = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

struct SquareFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const SquareParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name, isa) extern const SquareFunctions square_##name;
#include "kernels/square/square.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
