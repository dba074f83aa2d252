#pragma once

#include <cstdint>

#include "kernels/real_pair.h"

namespace qtool {

/// The quotient of two quantized tensors. The result has the same bits as the computation with the
/// dequantized floats:
/// q = clamp(rint(((float(qa - za) * sa) / (float(qb - zb) * sb)) / sy) + zy, low, high), ties to
/// even, every operation rounded to float. 0 / 0 counts as 0; other divisions by 0 saturate.
struct DivFunctions {
  /// `out` may be `a` or `b`.
  void (*run)(const RealPairParams& params, const std::uint8_t* a, const std::uint8_t* b,
              std::uint8_t* out, std::int64_t count);
};

#define QTOOL_KERNEL(name) extern const DivFunctions div_##name;
#include "kernels/div/div.inc"
#undef QTOOL_KERNEL

}  // namespace qtool
