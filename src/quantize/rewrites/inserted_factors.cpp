#include "quantize/rewrites/inserted_factors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/op_traits.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {
namespace {

// A 1 for each channel, in a shape that broadcasts to a tensor with `axes_behind` axes after the
// channels.
Tensor ones(std::int64_t channels, std::int64_t axes_behind) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(axes_behind) + 1, 1);
  dims[0] = channels;
  Tensor tensor(DType::kFloat32, Shape(dims));
  std::ranges::fill(tensor.values<float>(), 1.0F);
  return tensor;
}

// Adds a Mul at the end of the node order. Its name is that of its factors.
NodeId add_mul(Graph& graph, ValueId from, ValueId factors, ValueId to) {
  Node mul;
  mul.name = graph.value(factors).name;
  mul.op_type = "Mul";
  mul.inputs = {from, factors};
  mul.outputs = {to};
  return graph.add_node(std::move(mul));
}

bool is_idle(const Graph& graph, const ChannelFactor& factor) {
  const auto values = graph.value(factor.factors).constant->values<float>();
  return std::ranges::all_of(values, [](float value) { return value == 1.0F; });
}

// Whether factors of channels go through a function, as through a LeakyRelu.
bool passes_factors_on(const Graph& graph, const std::vector<NodeId>& nodes) {
  return std::ranges::all_of(nodes, [&](NodeId id) {
    return traits_of(graph.node(id)).keeps_channels == ChannelRule::kAlways;
  });
}

// The factors of the Mul by one constant per channel with which a function ends, as a constant of
// its own that is the second input. Nothing for other functions, and if it is the whole function.
std::optional<ValueId> own_factors(Graph& graph, const std::vector<NodeId>& nodes,
                                   std::int64_t channels) {
  const NodeId last = nodes.back();
  if (nodes.size() < 2 || !graph.node(last).is("Mul")) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const ValueId factors = graph.node(last).inputs[i];
    if (!channel_axis_from_end(graph, factors)) continue;
    const Tensor& constant = *graph.value(factors).constant;
    if (constant.elements() != channels) return std::nullopt;
    const ValueId own =
        graph.add_constant(graph.unique_name(graph.value(factors).name), constant.clone());
    graph.set_input(last, 0, graph.node(last).inputs[1 - i]);
    graph.set_input(last, 1, own);
    return own;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ChannelFactor> add_channel_factors(Graph& graph,
                                               std::span<const ElementFunction> functions) {
  std::vector<ChannelFactor> factors;
  for (const auto& [x, y, nodes] : functions) {
    if (passes_factors_on(graph, nodes)) continue;
    const NodeId layer = graph.value(x).producer;
    if (layer == kNoNode || traits_of(graph.node(layer)).kind != OpKind::kConvolution) continue;
    const auto ports = weight_ports(graph, layer);
    if (!ports || !graph.is_constant(ports->weight)) continue;
    const std::int64_t spatial = graph.value(ports->weight).constant->shape().rank() - 2;
    if (spatial < 1) continue;
    const auto unscaled = [&](ValueId id) {
      return graph.add_value(graph.unique_name(to_text(graph.value(id).name, "_unscaled")));
    };
    const auto constant = [&](ValueId id) {
      return graph.add_constant(graph.unique_name(to_text(graph.value(id).name, "_factors")),
                                ones(ports->channels, spatial));
    };
    const ValueId function_input = unscaled(x);
    for (const NodeId id : nodes) {
      const std::vector<ValueId> inputs = graph.node(id).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == x) graph.set_input(id, i, function_input);
      }
    }
    const ValueId before = constant(x);
    factors.push_back({add_mul(graph, x, before, function_input), before, false});
    if (const auto own = own_factors(graph, nodes, ports->channels)) {
      factors.push_back({nodes.back(), *own, true});
      continue;
    }
    const ValueId function_output = unscaled(y);
    graph.set_output(nodes.back(), 0, function_output);
    const ValueId behind = constant(y);
    factors.push_back({add_mul(graph, function_output, behind, y), behind, true});
  }
  graph.sort();
  return factors;
}

void remove_idle_factors(Graph& graph, std::span<const ChannelFactor> factors) {
  for (const ChannelFactor& factor : factors) {
    if (!is_idle(graph, factor)) continue;
    const Node node = graph.node(factor.node);
    const NodeId producer = graph.value(node.inputs[0]).producer;
    disconnect(graph, factor.node);
    if (factor.behind) {  // the tensor after the function keeps its name
      graph.set_output(producer, 0, node.outputs[0]);
    } else {
      graph.replace_uses(node.outputs[0], node.inputs[0]);
    }
  }
  graph.remove_dead_nodes();
}

}  // namespace qtool
