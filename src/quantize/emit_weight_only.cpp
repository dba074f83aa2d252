#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "quantize/emit.h"
#include "quantize/weights.h"

namespace qtool {

Graph emit_weight_only(const Graph& graph, std::span<const NodeId> ids, const LayerStages& stages,
                       QuantizeReport& report) {
  Graph result = graph;
  // By weight, axis, scales and integers.
  std::map<std::tuple<ValueId, std::int64_t, std::vector<float>, std::uint64_t>, ValueId> stored;
  const auto store = [&](NodeId id, WeightPorts ports) {
    ports.weight_factor = 1.0F;  // alpha stays an attribute
    ports.bias = kNoValue;       // stays an input of the node, as in the FP32 model
    report.output_channels += ports.channels;
    Layer layer = stages(id, ports).layer;
    const auto key =
        std::tuple(ports.weight, ports.axis, layer.affines.scales, digest(layer.integers));
    auto [it, fresh] = stored.try_emplace(key, kNoValue);
    if (fresh) {
      const std::string name = name_stem(graph.value(ports.weight).name);
      report.weight_bytes += layer.integers.bytes();
      Node node;
      node.op_type = "DequantizeLinear";
      node.attributes["axis"] = ports.axis;
      node.inputs = {
          result.add_constant(result.unique_name(concat(name, "_q")), std::move(layer.integers)),
          result.add_constant(result.unique_name(concat(name, "_s")),
                              Tensor::of<float>(Shape{ports.channels},
                                                std::span<const float>(layer.affines.scales)))};
      it->second = result.add_value(result.unique_name(concat(name, "_dq")));
      node.outputs = {it->second};
      result.add_node(std::move(node));
      ++report.added_nodes;
    }
    result.set_input(id, ports.input, it->second);
  };
  for (const NodeId id : ids) {
    for (const WeightPorts& ports : stored_weight_ports(graph, id)) store(id, ports);
  }
  result.sort();
  result.check();
  return result;
}

}  // namespace qtool
