#pragma once

#include <cstdint>

namespace qtool {

/// The quotient of two quantized tensors, with the bits of the real one:
/// q = clamp(rint(((float(qa - za) * sa) / (float(qb - zb) * sb)) / sy) + zy, low, high), ties to
/// even, every operation rounded to float. 0 / 0 counts as 0; other divisions by 0 saturate.
struct DivParams {
  float sa = 1.0F;
  float sb = 1.0F;
  float sy = 1.0F;
  std::int32_t za = 0;
  std::int32_t zb = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

struct DivFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const DivParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name, isa) extern const DivFunctions div_##name;
#include "kernels/div/div.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
