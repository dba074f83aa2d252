// Functions of one element between a DequantizeLinear and a QuantizeLinear become tables.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/element_functions.h"
#include "graph/op_traits.h"
#include "lower/passes.h"
#include "ops/evaluate.h"

namespace qtool {
namespace {

constexpr std::int64_t kIntegers = 256;
// The bytes of all tables of a plan that have one row per channel. A small file can ask for many
// such tables with one constant.
constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 26;

// Applies a function to the real values of all 256 integers, with the FP32 code of its own
// operators. So the only error is the rounding of the result.
class Tabulator {
 public:
  Tabulator(const Clusters& clusters, const ElementFunction& function)
      : clusters_(clusters), function_(function) {
    alone_.info = clusters.graph.info;
  }

  // One row of 256 results, or one row per index of axis 1. Subtracts the bytes of several rows
  // from `bytes_left`. Nothing when a node cannot be run like that, or when the rows would take
  // more than `bytes_left`.
  std::optional<Tensor> run(const Affine& affine, std::int64_t& bytes_left) {
    const Shape& shape = clusters_.shaped.info(function_.input).shape;
    // A constant may have more axes than the tensor, and then the result has more axes too.
    if (clusters_.shaped.info(function_.output).shape != shape) return std::nullopt;
    const std::optional<std::int64_t> channels = channels_of_constants(shape);
    if (!channels) return std::nullopt;
    if (*channels > 1) {
      if (*channels > bytes_left / kIntegers) return std::nullopt;
      bytes_left -= *channels * kIntegers;
    }
    values_[function_.input] = alone_.add_constant("x", all_reals(affine, *channels, shape.rank()));
    for (const NodeId id : function_.nodes) {
      if (!apply(id)) return std::nullopt;
    }
    const Tensor& result = *alone_.value(values_.at(function_.output)).constant;
    if (result.dtype() != DType::kFloat32 || result.elements() != *channels * kIntegers) {
      return std::nullopt;
    }
    return result.clone();
  }

 private:
  // The number of rows: 1 when all constants are single numbers, the extent of axis 1 when a
  // constant varies along it. Nothing when a constant varies along another axis.
  [[nodiscard]] std::optional<std::int64_t> channels_of_constants(const Shape& shape) const {
    std::int64_t channels = 1;
    for (const NodeId id : function_.nodes) {
      for (const ValueId input : clusters_.graph.node(id).inputs) {
        const auto from_end = channel_axis_from_end(clusters_.graph, input);
        if (!from_end) continue;
        if (*from_end + 1 != shape.rank()) return std::nullopt;
        channels = shape[1];
        const Tensor& constant = *clusters_.graph.value(input).constant;
        if (constant.elements() != channels || constant.shape().rank() > shape.rank()) {
          return std::nullopt;
        }
      }
    }
    return channels;
  }

  // For one channel, a row of the real values of the 256 integers. For several channels, these
  // values lie along axis 2 and repeat for each channel along axis 1.
  static Tensor all_reals(const Affine& affine, std::int64_t channels, std::int64_t rank) {
    std::vector<std::int64_t> dims{kIntegers};
    if (channels > 1) {
      dims.assign(static_cast<std::size_t>(rank), 1);
      dims[1] = channels;
      dims[2] = kIntegers;
    }
    Tensor reals(DType::kFloat32, Shape(dims));
    const auto values = reals.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = dequantize_value(static_cast<std::int32_t>(i % kIntegers), affine);
    }
    return reals;
  }

  bool apply(NodeId id) {
    Node copy = clusters_.graph.node(id);
    for (ValueId& input : copy.inputs) {
      if (input == kNoValue) continue;
      const auto known = values_.find(input);
      if (known != values_.end()) {
        input = known->second;
        continue;
      }
      std::optional<ValueId> constant = constant_of(input);
      if (!constant) return false;
      input = *constant;
    }
    const ValueId result = copy.outputs[0];
    copy.outputs = {alone_.add_value(alone_.unique_name("y"))};
    const ValueId made = copy.outputs[0];
    auto results = evaluate_node(alone_, alone_.add_node(std::move(copy)), LoweredParams{});
    if (!results) return false;
    alone_.set_constant(made, std::make_shared<const Tensor>(std::move((*results)[0])));
    values_[result] = made;
    return true;
  }

  // A constant of the network, plain or quantized. A single number loses its axes, because it may
  // have more axes than the row of 256 integers.
  [[nodiscard]] std::optional<ValueId> constant_of(ValueId id) {
    const std::vector<double> reals = clusters_.constant_reals(id);
    if (reals.size() == 1) {
      return alone_.add_constant(alone_.unique_name("c"),
                                 Tensor::scalar<float>(static_cast<float>(reals[0])));
    }
    if (!clusters_.graph.is_constant(id)) return std::nullopt;
    return alone_.add_constant(alone_.unique_name("c"), clusters_.graph.value(id).constant);
  }

  const Clusters& clusters_;
  const ElementFunction& function_;
  Graph alone_;                        // its nodes read constants only
  std::map<ValueId, ValueId> values_;  // values of the network -> values of alone_
};

void lower_function(Clusters& c, const ElementFunction& function, std::int64_t& bytes_left) {
  const std::optional<Clusters::Source> source = c.source(function.input);
  const NodeId last = function.nodes.back();
  const std::optional<Clusters::Sink> sink = source ? c.sink(last) : std::nullopt;
  if (!sink) return;
  const std::optional<Tensor> reals = Tabulator(c, function).run(source->affine, bytes_left);
  if (!reals) return;
  QLookupParams params;
  const auto values = reals->values<float>();
  params.tables.resize(values.size() / kIntegers);
  const QuantizedResult& y = sink->result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    params.tables[i / kIntegers][i % kIntegers] = static_cast<std::uint8_t>(
        std::clamp(quantize_value(values[i], y.affine, kU8Limits), y.low, y.high));
  }
  c.replace(last, "QLookup", {source->quantized}, sink, std::move(params));
  for (const NodeId id : function.nodes) {
    if (id != last) disconnect(c.graph, id);
  }
}

}  // namespace

void lower_functions(Clusters& c) {
  std::int64_t bytes_left = kMaxTableBytes;
  const std::vector<ElementFunction> functions = element_functions(c.graph);
  for (const ElementFunction& function : functions) lower_function(c, function, bytes_left);
  // The remaining functions are single nodes, such as a Relu that is not fused into a layer.
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    const Node& node = c.graph.node(id);
    if (is_gone(c.graph, id) || traits_of(node).kind != OpKind::kElementwise) continue;
    lower_function(c, {node.inputs[0], node.outputs[0], {id}}, bytes_left);
  }
  c.graph.remove_dead_nodes();
}

}  // namespace qtool
