// Tensors that keep 16 bits: one step computes both bytes. The product of the second byte starts
// from the result of the first byte's product, so there is no separate Add. The numbers are the
// same, with fewer passes over floats.
#include <optional>
#include <utility>

#include "graph/edit.h"
#include "lower/channel_mul.h"
#include "lower/passes.h"
#include "lower/real_product.h"

namespace qtool {
namespace {

/// The nodes and affine maps of a wide tensor `x`, as the quantizer writes them.
struct WideParts {
  NodeId first = kNoNode;   ///< QuantizeLinear(x)
  NodeId second = kNoNode;  ///< QuantizeLinear(x - DequantizeLinear(first))
  Affine high;
  Affine low;
};

std::optional<NodeId> producer_as(const Graph& graph, ValueId id, std::string_view op_type) {
  const NodeId producer = graph.value(id).producer;
  if (producer == kNoNode || !graph.node(producer).is(op_type)) return std::nullopt;
  return producer;
}

/// The parts around the node `sub`. Nothing when it does not belong to a wide tensor.
std::optional<WideParts> wide_parts(const Clusters& c, const Node& sub) {
  const Graph& graph = c.graph;
  const ValueId rest = sub.outputs[0];
  if (graph.is_output(rest) || graph.consumers(rest).size() != 1) return std::nullopt;
  const NodeId second = graph.consumers(rest).front();
  if (!graph.node(second).is("QuantizeLinear") || graph.node(second).inputs[0] != rest) {
    return std::nullopt;
  }
  const std::optional<NodeId> dequantize = producer_as(graph, sub.inputs[1], "DequantizeLinear");
  if (!dequantize) return std::nullopt;
  const std::optional<NodeId> first =
      producer_as(graph, graph.node(*dequantize).inputs[0], "QuantizeLinear");
  if (!first || graph.node(*first).inputs[0] != sub.inputs[0]) return std::nullopt;
  if (c.shaped.info(sub.inputs[0]).dtype != DType::kFloat32) return std::nullopt;
  const std::optional<Affine> high = c.u8_affine(*first);
  const std::optional<Affine> back = c.u8_affine(*dequantize);
  const std::optional<Affine> low = c.u8_affine(second);
  if (!high || !back || !low || *high != *back) return std::nullopt;
  return WideParts{*first, second, *high, *low};
}

// A tensor that keeps 16 bits and concatenates bytes: each of its two bytes depends on one byte of
// an operand. So two concatenations compute them, without floats.
bool concatenate_both_bytes(Clusters& c, NodeId sub, const WideParts& parts) {
  const ValueId x = c.graph.node(sub).inputs[0];
  const std::optional<NodeId> concat = producer_as(c.graph, x, "Concat");
  if (!concat || c.graph.is_output(x) || c.graph.consumers(x).size() != 2) return false;
  // The other ways to requantize would give another first byte than QuantizeWide.
  if (c.requantization != Requantization::kFloat) return false;
  const std::optional<Clusters::Sources> sources = c.sources(*concat, parts.high);
  if (!sources) return false;
  QConcatParams params{sources->affines, QuantizedResult{parts.high}};
  const Clusters::Sink high{
      c.graph.node(parts.first).outputs[0], params.result, {sub, parts.first}};
  const ValueId low = c.graph.node(parts.second).outputs[0];
  Node second = c.graph.node(*concat);
  second.name = c.graph.node(parts.second).name;
  second.inputs = sources->quantized;
  second.outputs = {low};
  disconnect(c.graph, parts.second);
  c.replace(*concat, "QConcat", sources->quantized, high, params);
  const NodeId id = c.graph.add_node(std::move(second), c.graph.node_behind(*concat));
  params.rest = parts.low;
  c.replace(id, "QConcat", sources->quantized, {}, std::move(params));
  return true;
}

void make_both_bytes(Clusters& c, NodeId sub) {
  const std::optional<WideParts> parts = wide_parts(c, c.graph.node(sub));
  if (!parts || concatenate_both_bytes(c, sub, *parts)) return;
  const ValueId low = c.graph.node(parts->second).outputs[0];
  disconnect(c.graph, sub);
  disconnect(c.graph, parts->second);
  c.graph.truncate_inputs(parts->first, 1);
  c.graph.set_output(parts->first, 1, low);
  c.shaped.lower_node(parts->first, "QuantizeWide", WideEdgeParams{parts->high, parts->low});
  const ValueId x = c.graph.node(parts->first).inputs[0];
  const std::optional<ChannelMul> mul = channel_mul(c.shaped, x, parts->first);
  if (!mul) return;
  c.graph.set_input(parts->first, 0, mul->x);
  c.graph.set_input(parts->first, 1, mul->factors);
}

void add_to_the_first(Clusters& c, NodeId add) {
  const std::vector<ValueId> inputs = c.graph.node(add).inputs;
  if (inputs[0] == inputs[1]) return;
  const std::optional<NodeId> second = real_product(c.shaped, inputs[1], {add});
  if (!second || !real_product(c.shaped, inputs[0], {add})) return;
  const ValueId sum = c.graph.node(add).outputs[0];
  const Shape& shape = c.shaped.info(sum).shape;
  if (c.shaped.info(inputs[0]).shape != shape || c.shaped.info(inputs[1]).shape != shape) return;
  if (shape.rank() > 4) return;  // volumes run slice by slice and cannot add a float tensor
  disconnect(c.graph, add);
  c.graph.set_input(*second, 3, inputs[0]);
  c.graph.set_output(*second, 0, sum);
}

}  // namespace

void quantize_wide_tensors(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (!is_gone(c.graph, id) && c.graph.node(id).is("Sub")) make_both_bytes(c, id);
  }
  c.graph.remove_dead_nodes();
}

void add_wide_products(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (!is_gone(c.graph, id) && c.graph.node(id).is("Add")) add_to_the_first(c, id);
  }
  c.graph.remove_dead_nodes();
  c.graph.sort();
}

}  // namespace qtool
