#include "quantize/layer.h"

namespace qtool {

/// q = clamp(round_half_even(w / s_c) + z_c), weight by weight. Cost: one pass.
Tensor rounding_nearest(const Layer& layer) {
  return quantize_weights(layer.weights, layer.scheme, layer.affines);
}

}  // namespace qtool
