#include "lower/channel_mul.h"

#include <cstddef>
#include <vector>

#include "graph/element_functions.h"

namespace qtool {

NodeId producer_for(const Graph& graph, ValueId id, NodeId reader) {
  if (graph.is_output(id) || graph.consumers(id) != std::vector<NodeId>{reader}) return kNoNode;
  return graph.value(id).producer;
}

std::optional<ChannelMul> channel_mul(const ShapedGraph& shaped, ValueId id, NodeId reader) {
  const Graph& graph = shaped.graph;
  const NodeId producer = producer_for(graph, id, reader);
  if (producer == kNoNode || !graph.node(producer).is("Mul")) return std::nullopt;
  if (!shaped.infos[id] || shaped.info(id).shape.rank() != 4) return std::nullopt;
  const Shape& shape = shaped.info(id).shape;
  for (const std::size_t i : {0U, 1U}) {
    const ValueId factors = graph.node(producer).inputs[i];
    const ValueId x = graph.node(producer).inputs[1 - i];
    if (!lies_along_channels(graph, factors, shape[1]) || graph.is_constant(x)) continue;
    if (shaped.infos[x] && shaped.info(x).shape == shape) return ChannelMul{producer, x, factors};
  }
  return std::nullopt;
}

bool lies_along_channels(const Graph& graph, ValueId id, std::int64_t channels) {
  return channel_axis_from_end(graph, id) == 3 && graph.value(id).constant->elements() == channels;
}

}  // namespace qtool
