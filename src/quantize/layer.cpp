#include "quantize/layer.h"

#include <utility>

#include "quantize/weights/integer_bias.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {

Layer begin_layer(const Graph& graph, NodeId node, const WeightPorts& ports, const Scheme& scheme,
                  LayerInput input) {
  Layer layer;
  layer.node = node;
  layer.ports = ports;
  layer.input = std::move(input);
  layer.weights = real_weights(graph, ports);
  layer.bias = real_bias(graph, ports);
  layer.scheme = scheme;
  layer.layout = layout_of(graph, node, ports, layer.weights.shape());
  return layer;
}

void choose_scales(Layer& layer, std::string_view method, Granularity granularity,
                   std::optional<Affines> given, int threads) {
  const bool integer_bias = layer.input.affine.has_value();
  const float input_scale = integer_bias ? layer.input.affine->scale : 1.0F;
  const std::span<const float> bias =
      integer_bias ? std::span<const float>(layer.bias) : std::span<const float>();
  if (given) {
    layer.affines = std::move(*given);
    layer.affines.scales = fit_scales(std::move(layer.affines.scales), bias, input_scale,
                                      layer.ports.depth, largest_magnitude(layer.scheme));
    return;
  }
  layer.affines = choose_weight_affines(layer.weights, layer.ports.axis, method, layer.scheme,
                                        granularity, bias, input_scale, threads);
  if (layer.pair_limit != 0) fit_scales_to_pairs(layer, threads);
}

}  // namespace qtool
