#include "quantize/weights/weight_slice.h"

namespace qtool {

/// The smallest scale that clips no weight: s = max|w| / qmax. Clipping weights gains nothing at 8
/// bits (Migacz, GTC 2017, S7310); below 6 bits a few large weights cost the other weights
/// resolution. Cost: one pass.
/// Source: Krishnamoorthi, arXiv 1806.08342, section 3. Differs from source: an asymmetric scale
/// covers both ends exactly although the zero point is an integer.
Affine weight_absmax(std::span<const float> weights, const Scheme& scheme) {
  const WeightSlice slice(weights, scheme);
  return slice.affine(slice.absmax_scale());
}

}  // namespace qtool
