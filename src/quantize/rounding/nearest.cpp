#include "quantize/layer.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {

/// q = clamp(round_half_even(w / s_c) + z_c), weight by weight; then the pairs are limited, if they
/// have a limit. Cost: one pass, or two.
Tensor rounding_nearest(const Layer& layer) {
  Tensor rounded = quantize_weights(layer.weights, layer.scheme, layer.affines);
  if (layer.pair_limit != 0) limit_pairs(layer, rounded.values<std::int8_t>());
  return rounded;
}

}  // namespace qtool
