#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "quantize/added_bias.h"
#include "quantize/bias_correction.h"
#include "quantize/emission/emit.h"
#include "quantize/placement/operands.h"
#include "quantize/weights/stored_weights.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

namespace {

/// The ports of a node without the factor alpha. Alpha stays an attribute of a Gemm, so the bias is
/// divided by it to have the units of the product. A bias that does not have one number for each
/// channel, or has no effect, is left out.
WeightPorts without_factors(const Graph& graph, WeightPorts ports) {
  ports.bias_factor /= ports.weight_factor;
  ports.weight_factor = 1.0F;
  const bool usable = is_bias_by_channel(graph, ports) && std::isfinite(ports.bias_factor) &&
                      ports.bias_factor != 0.0F;
  if (!usable) ports.bias = kNoValue;
  return ports;
}

/// Gives a node the bias of its layer. For a recurrent layer, and for a MatMul with an Add after
/// it, the bias of the layer is added to the existing one.
void set_bias(Graph& graph, const Layer& layer) {
  const NodeId id = layer.node;
  if (is_recurrent(graph, id)) return add_to_recurrent_bias(graph, id, layer.bias);
  if (const auto added = added_bias(graph, id, layer.ports)) {
    add_to_added_bias(graph, *added, layer.bias);
    return;
  }
  std::vector<float> bias = layer.bias;
  for (float& value : bias) value /= layer.ports.bias_factor;
  if (!all_finite(bias)) return;
  const ValueId named = layer.ports.bias == kNoValue ? graph.node(id).outputs[0] : layer.ports.bias;
  const std::string name =
      graph.unique_name(to_text(name_stem(graph.value(named).name), "_corrected"));
  graph.set_input(id, 2,
                  graph.add_constant(name, Tensor::of<float>(Shape{layer.ports.channels},
                                                             std::span<const float>(bias))));
}

}  // namespace

Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const LayerStages& stages,
                       QuantizeReport& report) {
  Graph result = graph;
  StoredWeights stored(result, report);
  for (const NodeId id : ids) {
    for (const WeightPorts& ports : stored_weight_ports(graph, id)) {
      StagedLayer staged = stages(id, without_factors(graph, ports));
      if (staged.corrected) set_bias(result, staged.layer);
      stored.store(std::move(staged.layer));
    }
  }
  result.sort();
  result.check();
  return result;
}

}  // namespace qtool
