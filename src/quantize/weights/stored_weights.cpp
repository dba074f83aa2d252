#include "quantize/weights/stored_weights.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "quantize/emission/emit.h"

namespace qtool {

void StoredWeights::store(Layer layer) {
  const WeightPorts& ports = layer.ports;
  report_.output_channels += ports.channels;
  const auto key =
      std::tuple(ports.weight, ports.axis, layer.affines.scales, digest(layer.integers));
  auto [it, fresh] = stored_.try_emplace(key, kNoValue);
  if (fresh) {
    const std::string name = name_stem(graph_.value(ports.weight).name);
    report_.weight_bytes += layer.integers.bytes();
    Node node;
    node.op_type = "DequantizeLinear";
    node.attributes["axis"] = ports.axis;
    node.inputs = {
        graph_.add_constant(graph_.unique_name(to_text(name, "_q")), std::move(layer.integers)),
        graph_.add_constant(graph_.unique_name(to_text(name, "_s")),
                            Tensor::of<float>(Shape{ports.channels},
                                              std::span<const float>(layer.affines.scales)))};
    it->second = graph_.add_value(graph_.unique_name(to_text(name, "_dq")));
    node.outputs = {it->second};
    graph_.add_node(std::move(node));
    ++report_.added_nodes;
  }
  graph_.set_input(layer.node, ports.input, it->second);
}

}  // namespace qtool
