#include <algorithm>
#include <array>
#include <utility>

#include "graph/constant_float.h"
#include "graph/id_map.h"
#include "graph/onnx/dtype.h"
#include "graph/passes/passes.h"

namespace qtool {
namespace {

// The type of a value if it is certain. The declared type of an intermediate tensor may be wrong.
std::optional<DType> known_dtype(const Graph& graph, ValueId id) {
  if (graph.is_input(id) || graph.is_constant(id)) return graph.value(id).dtype;
  const NodeId producer = graph.value(id).producer;
  if (producer == kNoNode) return std::nullopt;
  const Node& node = graph.node(producer);
  if (node.is("Cast")) return dtype_of_onnx(node.get_int("to", 0));
  if (node.is("Conv") || node.is("Gemm")) {  // their weights have the type of their result
    return node.has_input(1) && graph.is_constant(node.inputs[1])
               ? graph.value(node.inputs[1]).dtype
               : std::nullopt;
  }
  return std::nullopt;
}

bool does_nothing(const Graph& graph, const Node& node) {
  if (node.is("Identity")) return true;
  if (node.is("Cast")) {
    const auto from = known_dtype(graph, node.inputs[0]);
    return from && from == dtype_of_onnx(node.get_int("to", 0));
  }
  if (!node.is("Dropout")) return false;
  const bool mask = node.has_output(1) &&
                    (graph.is_output(node.outputs[1]) || !graph.consumers(node.outputs[1]).empty());
  if (mask) return false;
  if (!node.has_input(2)) return true;
  // Dropout in training mode with ratio 0 drops nothing. Exporters write functional dropout like
  // that.
  if (node.has_input(1) && constant_float(graph, node.inputs[1]) == 0.0F) return true;
  const Tensor* training = graph.value(node.inputs[2]).constant.get();
  return training != nullptr && training->dtype() == DType::kBool && training->elements() == 1 &&
         !training->values<bool>()[0];
}

}  // namespace

void remove_identities(Graph& graph) {
  // For each value, the value that it equals when all identities in between are removed.
  IdMap<ValueId, ValueId> origin(graph.value_limit());
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    origin[id] = id;
  }

  std::vector<NodeId> writes_output;
  const std::vector<NodeId> order = graph.nodes();
  for (const NodeId id : order) {
    for (std::size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ValueId input = graph.node(id).inputs[i];
      if (input != kNoValue && origin[input] != input) graph.set_input(id, i, origin[input]);
    }
    const Node& node = graph.node(id);
    if (!does_nothing(graph, node)) continue;
    const ValueId output = node.outputs[0];
    if (graph.is_output(output)) {
      writes_output.push_back(id);
      continue;
    }
    origin[output] = node.inputs[0];
    add_alias(graph, graph.value(output).name, graph.value(node.inputs[0]).name);
    disconnect(graph, id);  // now, so that a chain of identities does not add readers to its input
  }
  graph.remove_dead_nodes();

  // The graph output keeps its name: the producer of the identity's input writes the output
  // directly.
  for (const NodeId id : writes_output) {
    const ValueId input = graph.node(id).inputs[0];
    const ValueId output = graph.node(id).outputs[0];
    const NodeId producer = graph.value(input).producer;
    if (producer == kNoNode || graph.is_output(input)) continue;
    const std::size_t index = graph.output_index(input);
    graph.remove_node(id);
    graph.set_output(producer, index, output);
    graph.replace_uses(input, output);
    add_alias(graph, graph.value(input).name, graph.value(output).name);
  }
  close_aliases(graph);
}

}  // namespace qtool
