#pragma once

#include <cstdint>

#include "kernels/real_pair.h"

namespace qtool {

/// The squared difference of two quantized tensors. The result has the same bits as the computation
/// with the dequantized floats:
/// d = float(qa - za) * sa - float(qb - zb) * sb and
/// q = clamp(rint(d * d / sy) + zy, low, high), ties to even, every operation rounded to float.
struct SquareFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const SquareFunctions square_##name;
#include "kernels/square/square.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
