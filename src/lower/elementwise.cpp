// Lowering of the operators of several tensors, of averages, and of the edges between FP32 and
// integers.
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/op_traits.h"
#include "lower/passes.h"
#include "ops/evaluate.h"
#include "ops/fixed_point.h"

namespace qtool {
namespace {

constexpr Limits kU8{0, 255};

// A QuantizeLinear of a dequantized tensor: removed when scale and zero point are equal, a table
// otherwise.
void lower_requantize(Clusters& c, NodeId id) {
  const Node node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::optional<Affine> affine = source ? c.u8_affine(id) : std::nullopt;
  if (!affine) return;
  const ValueId target = node.outputs[0];
  if (*affine == source->affine && !c.graph.is_output(target)) {
    c.graph.replace_uses(target, source->quantized);
    disconnect(c.graph, id);
    return;
  }
  c.replace(id, "QLookup", {source->quantized}, std::nullopt,
            QLookupParams{{rescale_table(c.requantization, source->affine, *affine, kU8)}});
}

void lower_binary(Clusters& c, NodeId id, std::string_view op_type) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> a = c.source(node.inputs[0]);
  const std::optional<Clusters::Source> b = c.source(node.inputs[1]);
  const std::optional<Clusters::Sink> sink = a && b ? c.sink(id) : std::nullopt;
  if (!sink || c.shaped.info(sink->quantized).shape.rank() > 4) return;
  c.replace(id, op_type, {a->quantized, b->quantized}, sink,
            QBinaryParams{a->affine, b->affine, sink->result});
}

void lower_concat(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  std::vector<ValueId> inputs;
  QConcatParams params;
  for (const ValueId input : node.inputs) {
    const std::optional<Clusters::Source> source = c.source(input);
    if (!source) return;
    inputs.push_back(source->quantized);
    params.inputs.push_back(source->affine);
  }
  const std::optional<Clusters::Sink> sink = c.sink(id);
  if (!sink) return;
  params.result = sink->result;
  c.replace(id, "QConcat", inputs, sink, std::move(params));
}

void lower_average(Clusters& c, NodeId id, std::string_view op_type) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  if (!source || c.shaped.info(node.inputs[0]).shape.rank() != 4) return;
  const std::optional<Clusters::Sink> sink = c.sink(id);
  if (!sink && op_type != "QGlobalAveragePool") return;
  QAverageParams params{source->affine, std::nullopt};
  if (sink) params.result = sink->result;
  c.replace(id, op_type, {source->quantized}, sink, params);
}

}  // namespace

void lower_elementwise(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (is_gone(c.graph, id)) continue;  // absorbed by an earlier cluster
    const Node& node = c.graph.node(id);
    if (node.is("Add")) {
      lower_binary(c, id, "QAdd");
    } else if (node.is("Mul")) {
      lower_binary(c, id, "QMul");
    } else if (node.is("Concat")) {
      lower_concat(c, id);
    } else if (node.is("AveragePool")) {
      lower_average(c, id, "QAveragePool");
    } else if (node.is("GlobalAveragePool")) {
      lower_average(c, id, "QGlobalAveragePool");
    } else if (node.is("QuantizeLinear")) {
      lower_requantize(c, id);
    }
  }
  c.graph.remove_dead_nodes();
}

void lower_edges(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    const Node& node = c.graph.node(id);
    const bool quantize = node.is("QuantizeLinear");
    if ((!quantize && !node.is("DequantizeLinear")) || c.graph.is_constant(node.inputs[0])) {
      continue;
    }
    const std::optional<Affine> affine = c.u8_affine(id);
    if (!affine) continue;
    if (quantize && c.shaped.info(node.inputs[0]).dtype != DType::kFloat32) continue;
    c.graph.truncate_inputs(id, 1);
    c.shaped.lower_node(id, quantize ? "Quantize" : "Dequantize", EdgeParams{*affine});
  }
}

}  // namespace qtool
