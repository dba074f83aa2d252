#pragma once

#include <cstdint>

namespace qtool {

/// The sum of two quantized tensors:
/// q = clamp(rint(float(qa - za) * ra + float(qb - zb) * rb) + zy, low, high), ties to even. The
/// two products are rounded to float, and so is their sum.
struct AddParams {
  float ra = 1.0F;  ///< s_a / s_y
  float rb = 1.0F;  ///< s_b / s_y; negative: b is subtracted
  std::int32_t za = 0;
  std::int32_t zb = 0;
  std::int32_t zy = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

struct AddFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const AddParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const AddFunctions add_##name;
#include "kernels/add/add.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
