#include "graph/passes/passes.h"

namespace qtool {

// -(-x) is x, so the consumers of the outer negation read x instead.
void remove_double_negation(Graph& graph) {
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!node.is("Neg") || graph.is_output(node.outputs[0])) continue;
    const NodeId inner = graph.value(node.inputs[0]).producer;
    if (inner == kNoNode || !graph.node(inner).is("Neg")) continue;
    const ValueId x = graph.node(inner).inputs[0];
    add_alias(graph, graph.value(node.outputs[0]).name, graph.value(x).name);
    graph.replace_uses(node.outputs[0], x);
  }
  close_aliases(graph);
  graph.remove_dead_nodes();
}

}  // namespace qtool
