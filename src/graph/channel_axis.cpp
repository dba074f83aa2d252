#include "graph/channel_axis.h"

#include "graph/op_traits.h"

namespace qtool {

bool channels_are_last(const Graph& graph, ValueId activation) {
  bool last = false;
  for (const NodeId reader : graph.consumers(activation)) {
    const Node& node = graph.node(reader);
    if (node.inputs[0] != activation) continue;
    const OpKind kind = traits_of(node).kind;
    if (kind == OpKind::kConvolution) return false;
    const bool product = node.is("MatMul") || kind == OpKind::kRecurrent;
    last = last || (product && node.has_input(1) && graph.is_constant(node.inputs[1]));
  }
  return last;
}

std::int64_t channel_axis(const Graph& graph, ValueId activation, std::int64_t rank) {
  return channels_are_last(graph, activation) ? rank - 1 : 1;
}

}  // namespace qtool
