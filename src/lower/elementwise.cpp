// Lowers operators of several tensors, averages, normalizations, interpolation, and the edges
// between FP32 and integers.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/element_functions.h"
#include "graph/rank.h"
#include "lower/passes.h"
#include "ops/evaluate.h"
#include "ops/integer/fixed_point.h"
#include "ops/resize_options.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxAxes = 8;  // limit for operands that broadcast

// A QuantizeLinear of a dequantized tensor is removed when both have the same scale and zero point.
// Otherwise it becomes a table.
void lower_requantize(Clusters& c, NodeId id) {
  const Node node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::optional<Affine> affine = source ? c.u8_affine(id) : std::nullopt;
  if (!affine || !are_finite({source->affine.scale / affine->scale})) return;
  const ValueId target = node.outputs[0];
  if (*affine == source->affine && !c.graph.is_output(target)) {
    c.graph.replace_uses(target, source->quantized);
    disconnect(c.graph, id);
    return;
  }
  c.replace(id, "QLookup", {source->quantized}, std::nullopt,
            QLookupParams{{rescale_table(c.requantization, source->affine, *affine, kU8Limits)}});
}

// Whether the kernel of an operator of two tensors multiplies by finite numbers only.
bool has_finite_ratios(std::string_view op_type, const Affine& a, const Affine& b,
                       const Affine& y) {
  if (op_type == "QMul") return are_finite({a.scale * b.scale, a.scale * b.scale / y.scale});
  if (op_type == "QDiv") return are_finite({a.scale / b.scale, a.scale / b.scale / y.scale});
  const float sum = 2.0F * std::max(a.scale, b.scale);
  return are_finite({a.scale / y.scale, b.scale / y.scale, sum / y.scale});
}

void lower_binary(Clusters& c, NodeId id, std::string_view op_type,
                  const std::optional<Clusters::Sink>& sink) {
  const Node& node = c.graph.node(id);
  if (!sink || node.inputs.size() != 2) return;
  const std::optional<Clusters::Source> a = c.source(node.inputs[0]);
  const std::optional<Clusters::Source> b = c.source(node.inputs[1]);
  if (!a || !b || c.shaped.info(sink->quantized).shape.rank() > kMaxAxes) return;
  if (!has_finite_ratios(op_type, a->affine, b->affine, sink->result.affine)) return;
  c.replace(id, op_type, {a->quantized, b->quantized}, sink,
            QBinaryParams{a->affine, b->affine, sink->result});
}

// A Sub becomes QSub. When its only reader squares it, both become QSquaredDifference.
void lower_difference(Clusters& c, NodeId id) {
  const NodeId square = square_of(c.graph, id);
  if (square == kNoNode) return lower_binary(c, id, "QSub", c.sink(id));
  std::optional<Clusters::Sink> sink = c.sink(square);
  if (sink) sink->absorbed.insert(sink->absorbed.begin(), square);
  lower_binary(c, id, "QSquaredDifference", sink);
}

void lower_concat(Clusters& c, NodeId id) {
  const std::optional<Clusters::Sink> sink = c.sink(id);
  if (!sink) return;
  const std::optional<Clusters::Sources> sources = c.sources(id, sink->result.affine);
  if (!sources) return;
  c.replace(id, "QConcat", sources->quantized, sink, QConcatParams{sources->affines, sink->result});
}

void lower_average(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::int64_t rank = c.shaped.info(node.inputs[0]).shape.rank();
  // There is no average of volumes that is requantized with integers only.
  const bool volume = rank == 5 && c.requantization == Requantization::kFloat;
  if (!source || (rank != 4 && !volume)) return;
  const std::optional<Clusters::Sink> sink = c.sink(id);
  if (!sink || !are_finite({source->affine.scale / sink->result.affine.scale})) return;
  c.replace(id, "QAveragePool", {source->quantized}, sink,
            QAverageParams{source->affine, sink->result});
}

// The average of all pixels of a channel, for any number of spatial axes. The result may keep these
// axes or not.
void lower_global_average(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const Shape shape = c.shaped.info(node.inputs[0]).shape;
  if (!source || shape.rank() < 3 || shape.elements() == 0) return;
  if (node.is("ReduceMean") && !averages_pixels(node.get_ints("axes", {}), shape.rank())) return;
  const std::optional<Clusters::Sink> sink = c.sink(id);
  QAverageParams params{source->affine, std::nullopt};
  if (sink) params.result = sink->result;
  if (sink && !are_finite({source->affine.scale / sink->result.affine.scale})) return;
  ValueId image = source->quantized;
  if (shape.rank() != 4) {
    const std::int64_t pixels = shape.elements() / (shape[0] * shape[1]);
    image = c.reshaped(image, {shape[0], shape[1], pixels, 1}, id);
  }
  c.replace(id, "QGlobalAveragePool", {image}, sink, params);
  c.reshape_output(id, {shape[0], shape[1], 1, 1});
}

// The normalization reads integers. It writes reals when no QuantizeLinear follows.
void lower_normalization(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const Shape& shape = c.shaped.info(node.inputs[0]).shape;
  if (!source || shape.rank() < 3 || shape.elements() == 0) return;
  const std::optional<Clusters::Sink> sink = c.sink(id);
  QAverageParams params{source->affine, std::nullopt};
  if (sink) params.result = sink->result;
  c.replace(id, "QInstanceNormalization", {source->quantized, node.inputs[1], node.inputs[2]}, sink,
            params);
}

// Interpolation within each channel of images.
void lower_resize(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  if (node.get_string("mode", "nearest") != "linear") return;
  const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
  const std::optional<Clusters::Sink> sink = source ? c.sink(id) : std::nullopt;
  const OpContext op(c.graph, id, c.shaped.infos);
  if (!sink || !can_resize_bytes(op)) return;
  if (!are_finite({source->affine.scale / sink->result.affine.scale})) return;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = source->quantized;
  c.replace(id, "QResize", inputs, sink, QAverageParams{source->affine, sink->result});
}

// Replaces nodes of one operator by an integer operator, where that is possible.
struct Lowering {
  std::string_view op_type;
  void (*lower)(Clusters& c, NodeId id);
};
constexpr auto kLowerings = std::to_array<Lowering>({
    {"Add", [](Clusters& c, NodeId id) { lower_binary(c, id, "QAdd", c.sink(id)); }},
    {"AveragePool", lower_average},
    {"Concat", lower_concat},
    {"Div", [](Clusters& c, NodeId id) { lower_binary(c, id, "QDiv", c.sink(id)); }},
    {"GlobalAveragePool", lower_global_average},
    {"InstanceNormalization", lower_normalization},
    {"Max", [](Clusters& c, NodeId id) { lower_binary(c, id, "QMax", c.sink(id)); }},
    {"Min", [](Clusters& c, NodeId id) { lower_binary(c, id, "QMin", c.sink(id)); }},
    {"Mul", [](Clusters& c, NodeId id) { lower_binary(c, id, "QMul", c.sink(id)); }},
    {"QuantizeLinear", lower_requantize},
    {"ReduceMean", lower_global_average},
    {"Resize", lower_resize},
    {"Sub", lower_difference},
});

}  // namespace

void lower_elementwise(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (is_gone(c.graph, id)) continue;  // absorbed by an earlier cluster
    const auto row = std::ranges::find(kLowerings, c.graph.node(id).op_type, &Lowering::op_type);
    if (row != kLowerings.end()) row->lower(c, id);
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
