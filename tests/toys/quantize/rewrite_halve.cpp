#include <memory>

#include "quantize/rewrites/rewrite.h"

namespace qtool {
namespace {

void scale_constant(Graph& graph, ValueId id, float factor) {
  Tensor scaled = graph.value(id).constant->clone();
  for (float& value : scaled.values<float>()) value *= factor;
  graph.set_constant(id, std::make_shared<const Tensor>(std::move(scaled)));
}

}  // namespace

// Halves the values of the tensors between two convolutions with a Relu between them.
RewriteOutcome rewrite_halve(Rewritten& network, const RewriteContext& /*context*/) {
  Graph& graph = network.graph;
  RewriteOutcome outcome;
  for (ActivationEntry& entry : network.table.activations) {
    const auto tensor = graph.find_value(entry.tensor);
    if (!tensor || graph.value(*tensor).producer == kNoNode) continue;
    const Node relu = graph.node(graph.value(*tensor).producer);
    if (!relu.is("Relu") || graph.consumers(*tensor).size() != 1) continue;
    const Node before = graph.node(graph.value(relu.inputs[0]).producer);
    const Node after = graph.node(graph.consumers(*tensor)[0]);
    if (!before.is("Conv") || !after.is("Conv")) continue;
    scale_constant(graph, before.inputs[1], 0.5F);
    scale_constant(graph, before.inputs[2], 0.5F);
    scale_constant(graph, after.inputs[1], 2.0F);
    entry.range = {entry.range.min / 2.0F, entry.range.max / 2.0F};
    entry.affine.scale /= 2.0F;
    for (const ValueId halved : {before.outputs[0], *tensor}) {
      network.scaled.tensors[graph.value(halved).name] = {};
    }
    ++outcome.tensors;
  }
  if (outcome.tensors == 0) outcome.reason = "no Relu is between two convolutions";
  return outcome;
}

}  // namespace qtool
