#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "measure/metrics.h"
#include "measure/quantized_parts.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What rounding did to one tensor; those of several images add up.
struct TensorRounding {
  SqnrSums sums;
  std::int64_t count = 0;
  std::int64_t saturated = 0;  ///< values beyond what the integers stand for
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();  ///< integers in use
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  Range seen;  ///< of the values, and 0

  TensorRounding& operator+=(const TensorRounding& other);
};

/// Rounds `values` to `out` as a pair of QuantizeLinear and DequantizeLinear does, see
/// quantize_value(). Integers are counted from the zero point. Cost: linear.
TensorRounding round_values(const QuantizedActivation& activation, std::span<const float> values,
                            float* out);

/// The same for a tensor of the FP32 network, whose channels the INT8 model may divide by factors:
/// they are divided, rounded and multiplied again. The result tells of the divided ones, to whose
/// `peaks` see raise_peaks(). Cost: linear.
TensorRounding round_tensor(const QuantizedActivation& activation, const TensorView& tensor,
                            float* out, std::vector<float>& peaks);

/// Raises `peaks` to the largest |x| of each index of axis 1; leaves them empty for a tensor of
/// fewer than three axes. Cost: linear.
void raise_peaks(const TensorView& tensor, std::vector<float>& peaks);

}  // namespace qtool
