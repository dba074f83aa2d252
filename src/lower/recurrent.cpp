// Lowering of LSTM, GRU and RNN whose input and weights are quantized.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/op_traits.h"
#include "lower/passes.h"
#include "ops/integer/packed_sums.h"

namespace qtool {
namespace {

// The input as bytes; scale and zero point may be computed by the network.
struct RecurrentInput {
  ValueId bytes = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;  // kNoValue: zero point 0
};

// Whether a DynamicQuantizeLinear measures the scale and the zero point. Its scale is one for the
// tensor, positive and finite.
bool is_measured(const Clusters& c, const Node& dequantize) {
  const NodeId producer = c.graph.value(dequantize.inputs[0]).producer;
  if (producer == kNoNode || !c.graph.node(producer).is("DynamicQuantizeLinear")) return false;
  return dequantize.inputs == c.graph.node(producer).outputs;
}

std::optional<RecurrentInput> input_of(const Clusters& c, ValueId real) {
  const NodeId producer = c.graph.value(real).producer;
  if (producer == kNoNode || !c.graph.node(producer).is("DequantizeLinear")) return std::nullopt;
  const Node& node = c.graph.node(producer);
  if (!is_measured(c, node) && !c.u8_affine(producer)) return std::nullopt;
  return RecurrentInput{node.inputs[0], node.inputs[1],
                        node.has_input(2) ? node.inputs[2] : kNoValue};
}

// Weights [directions, rows, depth] as s8, and a scale and a zero point for each row.
struct GateWeights {
  std::shared_ptr<const Tensor> values;
  GateAffines affines;
};

// ONNX has scales along one axis only. Scales of the rows of each direction are therefore on axis 0
// of a matrix [directions * rows, depth], and a Reshape makes the weights from that matrix. Scales
// on axis 1 of the weights are shared by the directions.
std::optional<GateWeights> weights_of(const Clusters& c, ValueId real) {
  const Shape shape = c.shaped.info(real).shape;
  if (shape.rank() != 3) return std::nullopt;
  const NodeId producer = c.graph.value(real).producer;
  const bool joined = producer != kNoNode && c.graph.node(producer).is("Reshape");
  const std::optional<Clusters::Weights> found =
      c.weights(joined ? c.graph.node(producer).inputs[0] : real);
  if (!found) return std::nullopt;
  const Shape& stored = found->values->shape();
  const std::int64_t rows = shape[0] * shape[1];
  if (joined && !(stored == Shape{rows, shape[2]})) return std::nullopt;
  const Affines& affines = found->affines;
  const std::int64_t count = joined ? rows : shape[1];
  if (!affines.per_tensor() &&
      (affines.axis != (joined ? 0 : 1) || std::ssize(affines.scales) != count)) {
    return std::nullopt;
  }
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Affine affine = affines.at(static_cast<std::size_t>(row % count));
    scales.push_back(affine.scale);
    zero_points.push_back(affine.zero_point);
  }
  if (!sums_fit(found->values->values<std::int8_t>(), zero_points, shape[2])) return std::nullopt;
  Tensor values = found->values->clone();
  if (joined) values = std::move(values).reshaped(shape);
  return GateWeights{
      std::make_shared<const Tensor>(std::move(values)),
      {std::make_shared<const Tensor>(Tensor::of<float>({rows}, std::span<const float>(scales))),
       std::make_shared<const Tensor>(
           Tensor::of<std::int32_t>({rows}, std::span<const std::int32_t>(zero_points)))}};
}

void lower_layer(Clusters& c, NodeId id) {
  const Node& node = c.graph.node(id);
  const std::optional<RecurrentInput> input = input_of(c, node.inputs[0]);
  if (!input) return;
  std::optional<GateWeights> w = weights_of(c, node.inputs[1]);
  std::optional<GateWeights> r = weights_of(c, node.inputs[2]);
  if (!w || !r) return;
  const auto constant = [&](ValueId real, const GateWeights& weights) {
    return c.shaped.add_constant(c.graph.value(real).name + "_s8", weights.values->clone());
  };
  const ValueId w_bytes = constant(node.inputs[1], *w);
  const ValueId r_bytes = constant(node.inputs[2], *r);
  c.shaped.lower_node(id, to_text("Q", node.op_type),
                      QRecurrentParams{std::move(w->affines), std::move(r->affines)});
  c.shaped.mark_integer(id);
  c.graph.set_input(id, 0, input->bytes);
  c.graph.set_input(id, 1, w_bytes);
  c.graph.set_input(id, 2, r_bytes);
  c.graph.set_input(id, 8, input->scale);
  if (input->zero_point != kNoValue) c.graph.set_input(id, 9, input->zero_point);
}

}  // namespace

void lower_recurrent(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (traits_of(c.graph.node(id)).kind == OpKind::kRecurrent) lower_layer(c, id);
  }
  c.graph.remove_dead_nodes();
}

}  // namespace qtool
