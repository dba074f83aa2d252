#pragma once

#include <cstdint>

#include "qtool/quant/affine.h"

namespace qtool {

/// The scheme that TensorFlow's 8-bit graphs of 2016 call MIN_FIRST: real = (q - offset) / k, with
/// k = (qmax - qmin) / (max - min) integers per unit. Both x k and min k are rounded before they
/// are subtracted, so that the offset is an integer. Rounding the difference (x - min) k instead
/// would shift every re-quantized value by the same fraction of a step.
struct MinFirst {
  double per_unit = 1.0;    ///< k
  std::int64_t offset = 0;  ///< qmin - round(min k): the integer of real 0, if the range contains 0
  Limits limits{0, 255};
};

/// The map of `range` onto the integers of `limits`: k = (qmax - qmin) / (max - min).
/// A range of one value gets k = 1. Throws Error(kInvalidArgument) when the range is not a finite
/// interval. Known answer: [-10, 30] onto 0 to 255 gives -10 -> 0, 10 -> 128, 30 -> 255.
/// Source: TensorFlow, core/kernels/quantization_utils.h, FloatToQuantized. Differs from source: a
/// range of one value maps by k = 1 rather than to the lowest integer, so that real 0 stays exact.
MinFirst min_first(Range range, const Limits& limits);

/// q = clamp(round(x k) - round(min k) + qmin), halves away from zero; NaN gives the offset.
std::int32_t quantize_min_first(float x, const MinFirst& map) noexcept;
/// x = (q - offset) / k.
float dequantize_min_first(std::int32_t q, const MinFirst& map) noexcept;

}  // namespace qtool
