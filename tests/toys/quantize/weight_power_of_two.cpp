#include <cmath>

#include "quantize/weights/weight_slice.h"

namespace qtool {

// The next power of two above the smallest scale that clips nothing, so that scaling is a shift.
Affine weight_power_of_two(std::span<const float> weights, const Scheme& scheme) {
  const WeightSlice slice(weights, scheme);
  if (slice.all_zero()) return slice.affine(0.0);
  return slice.affine(std::exp2(std::ceil(std::log2(slice.absmax_scale()))));
}

}  // namespace qtool
