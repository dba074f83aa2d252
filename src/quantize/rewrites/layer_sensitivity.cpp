#include "quantize/rewrites/layer_sensitivity.h"

#include <algorithm>
#include <cmath>

#include "quantize/weights/weight_layout.h"

namespace qtool {

LayerSensitivity sensitivity_of(const Graph& graph, const ScalableLayer& layer,
                                const std::vector<ChannelModel>& models, const Target& target) {
  LayerSensitivity sensitivity;
  const Tensor& weights = *graph.value(layer.ports.weight).constant;
  const WeightLayout layout = layout_of(graph, layer.node, layer.ports, weights.shape());
  if (layout.total_inputs != static_cast<std::int64_t>(models.size())) return sensitivity;
  sensitivity.gain.resize(models.size());
  sensitivity.weight.resize(models.size());
  const double steps = limits_of(weight_scheme(graph, layer.node, target)).max;
  const auto w = weights.values<float>();
  for (std::int64_t o = 0; o < layer.ports.channels; ++o) {
    double largest = 0.0;
    for (std::int64_t i = 0; i < layout.inputs; ++i) {
      const std::int64_t begin = layout.first(o, i);
      double squares = 0.0;
      for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
        const double value = std::abs(w[static_cast<std::size_t>(begin + tap)]);
        squares += value * value;
        largest = std::max(largest, value);
      }
      const auto c = static_cast<std::size_t>(layout.input_channel(o, i));
      sensitivity.gain[c] += squares;
      sensitivity.power += squares * models[c].power();
    }
    // In a depthwise layer the scale depends on one input channel only and follows its factor, so
    // the noise relative to the result stays the same.
    if (is_depthwise(layer)) continue;
    const double step = largest / steps;
    for (std::int64_t i = 0; i < layout.inputs; ++i) {
      const auto c = static_cast<std::size_t>(layout.input_channel(o, i));
      sensitivity.weight[c] +=
          static_cast<double>(layout.taps) * step * step / 12.0 * models[c].power();
    }
  }
  return sensitivity;
}

}  // namespace qtool
