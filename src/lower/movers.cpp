// The passes that move quantization along the graph, so that more operators run on integers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "graph/op_traits.h"
#include "lower/passes.h"

namespace qtool {
namespace {

// Makes a Pad that now runs on u8 pad with the zero point instead of 0. Returns false when it pads
// with another value. Other movers need no change.
bool adapt_padding(Clusters& c, NodeId id, const Affine& affine) {
  const Node& node = c.graph.node(id);
  if (!node.is("Pad")) return true;
  const std::string mode = node.get_string("mode", "constant");
  if (mode != "constant") return true;
  if (node.has_input(2)) {
    const std::vector<double> value = c.constant_reals(node.inputs[2]);
    if (value.size() != 1 || value[0] != 0.0) return false;
  }
  const ValueId zero = c.shaped.add_constant(
      "qtool_zero_point",
      Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(affine.zero_point)));
  c.graph.set_input(id, 2, zero);
  return true;
}

// ArgMax and ArgMin may read the integers. These have the same order as the reals that they stand
// for, and are equal where the reals are equal, unless they stand for infinities.
void rank_bytes(Clusters& c, NodeId id) {
  const std::optional<Clusters::Source> source = c.source(c.graph.node(id).inputs[0]);
  if (!source || !std::isfinite(source->affine.scale * 255.0F)) return;
  c.graph.set_input(id, 0, source->quantized);
  c.shaped.mark_integer(id);
}

// The u8 constant for a signed zero point: 128 higher.
ValueId raised_zero_point(Clusters& c, const Affine& affine) {
  return c.shaped.add_constant(
      "qtool_zero_point",
      Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(affine.zero_point + 128)));
}

}  // namespace

void relabel_signed_activations(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    if (!c.graph.node(id).is("QuantizeLinear")) continue;
    const std::optional<Affines> affines = c.affines(id);
    if (!affines || !affines->per_tensor() || c.integer_type(id) != DType::kInt8) continue;
    const ValueId quantized = c.graph.node(id).outputs[0];
    const std::vector<NodeId> readers = c.graph.consumers(quantized);
    const bool only_dequantized =
        !c.graph.is_output(quantized) &&
        std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
          const std::optional<Affines> theirs =
              c.graph.node(reader).is("DequantizeLinear") ? c.affines(reader) : std::nullopt;
          return theirs && theirs->per_tensor();
        });
    if (!only_dequantized) continue;
    for (const NodeId reader : readers) {
      c.graph.set_input(reader, 2, raised_zero_point(c, c.affines(reader)->at(0)));
    }
    c.graph.set_input(id, 2, raised_zero_point(c, affines->at(0)));
    c.shaped.infos[quantized]->dtype = DType::kUInt8;
  }
}

void sink_dequantize(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    const Node& node = c.graph.node(id);
    if (node.is("ArgMax") || node.is("ArgMin")) rank_bytes(c, id);
    if (!only_moves(node)) continue;
    const std::optional<Clusters::Source> source = c.source(node.inputs[0]);
    if (!source) continue;
    const NodeId dequantize = c.graph.value(node.inputs[0]).producer;
    const std::vector<ValueId> params(c.graph.node(dequantize).inputs.begin() + 1,
                                      c.graph.node(dequantize).inputs.end());
    if (node.is("MaxPool")) {
      // lift_rows() has already turned pools over one axis with a quantized input into pools of
      // images.
      const std::int64_t rank = c.shaped.info(node.inputs[0]).shape.rank();
      if ((rank != 4 && rank != 5) || node.has_output(1)) continue;
    }
    if (!adapt_padding(c, id, source->affine)) continue;
    c.graph.set_input(id, 0, source->quantized);
    if (node.is("MaxPool")) c.shaped.lower_node(id, "QMaxPool", {});
    c.shaped.mark_integer(id);
    const std::vector<ValueId> outputs = c.graph.node(id).outputs;
    const NodeId before = c.graph.node_behind(id);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue) continue;
      const ValueId moved =
          c.shaped.add_value(c.graph.value(outputs[i]).name + "_u8",
                             ValueInfo{DType::kUInt8, c.shaped.info(outputs[i]).shape});
      c.graph.set_output(id, i, moved);
      Node after;
      after.op_type = "DequantizeLinear";
      after.inputs = {moved};
      after.inputs.insert(after.inputs.end(), params.begin(), params.end());
      after.outputs = {outputs[i]};
      c.graph.add_node(std::move(after), before);
    }
  }
}

void mark_integer_products(Clusters& c) {
  for (const NodeId id : c.graph.nodes()) {
    if (c.graph.node(id).is("ConvInteger") || c.graph.node(id).is("MatMulInteger")) {
      c.shaped.mark_integer(id);
    }
  }
}

}  // namespace qtool
