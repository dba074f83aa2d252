#include <cmath>

#include "quantize/layer.h"

namespace qtool {

// Rounds towards zero, so that no magnitude grows.
Tensor rounding_to_zero(const Layer& layer) {
  Tensor integers(DType::kInt8, layer.weights.shape());
  const auto from = layer.weights.values<float>();
  const auto to = integers.values<std::int8_t>();
  const std::size_t slice =
      from.size() / static_cast<std::size_t>(layer.ports.channels);  // a Conv: channels first
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = static_cast<std::int8_t>(std::trunc(from[i] / layer.affines.scales[i / slice]));
  }
  return integers;
}

}  // namespace qtool
