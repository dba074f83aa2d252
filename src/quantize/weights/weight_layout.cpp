#include "quantize/weights/weight_layout.h"

#include <algorithm>

namespace qtool {

WeightLayout layout_of(const Graph& graph, NodeId id, const WeightPorts& ports,
                       const Shape& shape) {
  const Node& node = graph.node(id);
  WeightLayout layout;
  layout.channels_per_group = ports.channels;
  if (node.is("Conv")) {
    const std::int64_t groups = std::max<std::int64_t>(1, node.get_int("group", 1));
    layout.inputs = shape[1];
    layout.taps = shape[1] > 0 ? ports.depth / shape[1] : 0;
    layout.channel_step = ports.depth;
    layout.input_step = layout.taps;
    layout.channels_per_group = std::max<std::int64_t>(1, ports.channels / groups);
    layout.total_inputs = layout.inputs * groups;
    return layout;
  }
  if (node.is("ConvTranspose")) {  // one group
    layout.inputs = layout.total_inputs = shape[0];
    layout.taps = shape[0] > 0 ? ports.depth / shape[0] : 0;
    layout.channel_step = layout.taps;
    layout.input_step = layout.taps * ports.channels;
    for (const std::int64_t stride : node.get_ints("strides", {})) {
      layout.shared_by *= static_cast<double>(std::max<std::int64_t>(1, stride));
    }
    return layout;
  }
  layout.inputs = ports.depth;
  layout.total_inputs = ports.depth;
  layout.channel_step = ports.axis == 0 ? ports.depth : 1;
  layout.input_step = ports.axis == 0 ? 1 : ports.channels;
  return layout;
}

}  // namespace qtool
