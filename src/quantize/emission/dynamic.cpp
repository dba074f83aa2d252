#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/edit.h"
#include "graph/onnx/dtype.h"
#include "quantize/added_bias.h"
#include "quantize/emission/emit.h"
#include "quantize/weights/stored_weights.h"
#include "quantize/weights/weight_ports.h"
#include "tensor/transposed.h"

namespace qtool {
namespace {

/// Writes one graph. The added nodes have no names and are identified by their outputs. The last of
/// the nodes that replace a product writes the tensor that the product wrote before.
class DynamicEmitter {
 public:
  DynamicEmitter(const Graph& graph, QuantizeReport& report)
      : graph_(graph), report_(report), stored_(graph_, report) {}

  void replace(const StagedLayer& staged) {
    const Layer& layer = staged.layer;
    const NodeId id = layer.node;
    const WeightPorts& ports = layer.ports;
    const auto added = added_bias(graph_, id, ports);
    if (added && staged.corrected) add_to_added_bias(graph_, *added, layer.bias);
    const std::vector<float>& scales = layer.affines.scales;
    const Node node = graph_.node(id);
    const bool conv = node.is("Conv");
    const std::string name = name_stem(name_of(graph_, id));
    const Input input = measured(node.inputs[0]);
    const bool rows = conv && layer.integers.shape().rank() == 3;
    report_.output_channels += ports.channels;

    const ValueId integers = rows ? images_of(input.integers) : input.integers;
    Node product = node_of(conv ? "ConvInteger" : "MatMulInteger",
                           {integers, weight(layer, conv), input.zero_point});
    product.name = node.name;
    if (conv) product.attributes = node.attributes;
    if (rows) add_height(node, product.attributes);
    if (conv) product.inputs.push_back(middle());
    const ValueId result = node.outputs[0];
    disconnect(graph_, id);

    const ValueId sums = add(std::move(product), to_text(name, "_i32"));
    Node cast = node_of("Cast", {sums});
    cast.attributes["to"] = std::int64_t{onnx_of_dtype(DType::kFloat32)};
    const ValueId reals = add(std::move(cast), to_text(name, "_sum"));
    const ValueId scale = add(node_of("Mul", {input.scale, row(to_text(name, "_s"), scales, conv)}),
                              to_text(name, "_scale"));
    Node last = node_of("Mul", {reals, scale});
    if (ports.bias != kNoValue || (staged.corrected && !added)) {
      const ValueId scaled = add(std::move(last), to_text(name, "_scaled"));
      last = node_of("Add", {scaled, row(to_text(name, "_b"), layer.bias, conv)});
    }
    if (rows) {
      const ValueId images = add(std::move(last), to_text(name, "_images"));
      last = node_of("Squeeze", {images, height_axis()});
    }
    last.outputs = {result};
    graph_.add_node(std::move(last));
    ++report_.added_nodes;
  }

  /// A recurrent layer keeps its operator, because ONNX has no integer form of it. Its input is
  /// quantized and dequantized, and a DequantizeLinear follows each of its weights, so that
  /// runtimes may compute on integers.
  void measure_input(NodeId id) {
    const ValueId real = graph_.node(id).inputs[0];
    const Input input = measured(real);
    auto [it, fresh] = reals_.try_emplace(real, kNoValue);
    if (fresh) {
      it->second = add(node_of("DequantizeLinear", {input.integers, input.scale, input.zero_point}),
                       to_text(name_stem(graph_.value(real).name), "_dq"));
    }
    graph_.set_input(id, 0, it->second);
  }
  void store(StagedLayer staged) {
    correct(staged);
    stored_.store(std::move(staged.layer));
  }
  /// Adds the corrections of bias correction to the bias of a recurrent layer.
  void correct(const StagedLayer& staged) {
    if (staged.corrected) add_to_recurrent_bias(graph_, staged.layer.node, staged.layer.bias);
  }

  /// Turns an LSTM into ONNX Runtime's DynamicQuantizeLSTM, which measures its input itself.
  void become_dynamic_lstm(NodeId id, const Layer& w, const Layer& r) {
    graph_.info.opsets["com.microsoft"] = 1;
    graph_.set_op(id, "DynamicQuantizeLSTM", "com.microsoft");
    const std::vector<ValueId> w_values = columns_of(w);
    const std::vector<ValueId> r_values = columns_of(r);
    graph_.set_input(id, 1, w_values[0]);
    graph_.set_input(id, 2, r_values[0]);
    for (std::size_t i = 0; i < 2; ++i) {
      graph_.set_input(id, 8 + i, w_values[1 + i]);
      graph_.set_input(id, 10 + i, r_values[1 + i]);
    }
  }

  Graph finish() {
    graph_.remove_dead_nodes();
    graph_.sort();
    graph_.check();
    return std::move(graph_);
  }

 private:
  /// The results of a DynamicQuantizeLinear.
  struct Input {
    ValueId integers;
    ValueId scale;
    ValueId zero_point;
  };

  static Node node_of(std::string_view op_type, std::vector<ValueId> inputs) {
    Node node;
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    return node;
  }

  /// Rows, of convolutions over one axis, as images of one row: ConvInteger of ONNX Runtime takes
  /// images only.
  ValueId images_of(ValueId rows) {
    const auto [it, fresh] = images_.try_emplace(rows, kNoValue);
    if (fresh) {
      it->second = add(node_of("Unsqueeze", {rows, height_axis()}),
                       to_text(graph_.value(rows).name, "_image"));
    }
    return it->second;
  }
  ValueId height_axis() {
    if (height_axis_ == kNoValue) height_axis_ = add_ints(graph_, "height_axis", {2});
    return height_axis_;
  }

  /// The integers, scale and zero point of an activation, made while the model runs. All products
  /// that read the activation share them.
  Input measured(ValueId real) {
    const auto known = inputs_.find(real);
    if (known != inputs_.end()) return known->second;
    const std::string name = name_stem(graph_.value(real).name);
    const Input input{graph_.add_value(graph_.unique_name(to_text(name, "_q"))),
                      graph_.add_value(graph_.unique_name(to_text(name, "_s"))),
                      graph_.add_value(graph_.unique_name(to_text(name, "_z")))};
    Node node = node_of("DynamicQuantizeLinear", {real});
    node.outputs = {input.integers, input.scale, input.zero_point};
    graph_.add_node(std::move(node));
    ++report_.added_nodes;
    ++report_.quantized_tensors;
    return inputs_.emplace(real, input).first->second;
  }

  ValueId add(Node node, const std::string& output) {
    const ValueId result = graph_.add_value(graph_.unique_name(output));
    node.outputs = {result};
    graph_.add_node(std::move(node));
    ++report_.added_nodes;
    return result;
  }

  ValueId add_constant(const std::string& name, Tensor tensor) {
    return graph_.add_constant(graph_.unique_name(name), std::move(tensor));
  }

  /// The zero point of convolution weights, which are u8: ONNX Runtime's ConvInteger takes no s8.
  ValueId middle() {
    if (middle_ == kNoValue) middle_ = add_constant("middle", Tensor::scalar<std::uint8_t>(128));
    return middle_;
  }

  /// The stored weights: u8 with zero point 128 for a convolution, s8 [K, N] for a matrix product.
  ValueId weight(const Layer& layer, bool conv) {
    const WeightPorts& ports = layer.ports;
    const auto key =
        std::tuple(ports.weight, ports.axis, ports.weight_factor, digest(layer.integers));
    const auto known = weights_.find(key);
    if (known != weights_.end()) return known->second;
    Tensor integers = layer.integers.clone();
    report_.weight_bytes += integers.bytes();
    const std::string name = to_text(name_stem(graph_.value(ports.weight).name), "_q");
    if (!conv) {
      if (ports.axis == 0) integers = transposed(integers);
      return weights_.emplace(key, add_constant(name, std::move(integers))).first->second;
    }
    Shape shape = integers.shape();
    if (shape.rank() == 3) shape = {shape[0], shape[1], 1, shape[2]};
    Tensor raised(DType::kUInt8, shape);
    const auto from = integers.values<std::int8_t>();
    const auto to = raised.values<std::uint8_t>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i] = static_cast<std::uint8_t>(from[i] + 128);
    }
    return weights_.emplace(key, add_constant(name, std::move(raised))).first->second;
  }

  /// Adds the constants for weights [directions, rows, depth] in the form of DynamicQuantizeLSTM:
  /// integers [directions, depth, rows], and a scale and a zero point for each row of each
  /// direction.
  std::vector<ValueId> columns_of(const Layer& layer) {
    const Shape& shape = layer.integers.shape();
    const std::int64_t directions = shape[0];
    const std::int64_t rows = shape[1];
    Tensor columns(DType::kInt8, {directions, shape[2], rows});
    const auto from = layer.integers.values<std::int8_t>();
    auto* to = columns.values<std::int8_t>().data();
    for (std::int64_t d = 0; d < directions; ++d) {
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        for (std::int64_t row = 0; row < rows; ++row) {
          *to++ = from[static_cast<std::size_t>((d * rows + row) * shape[2] + k)];
        }
      }
    }
    std::vector<float> scales;
    for (std::int64_t d = 0; d < directions; ++d) {
      scales.insert(scales.end(), layer.affines.scales.begin(), layer.affines.scales.end());
    }
    const std::string name = name_stem(graph_.value(layer.ports.weight).name);
    report_.output_channels += layer.ports.channels;
    report_.weight_bytes += columns.bytes();
    return {add_constant(to_text(name, "_q"), std::move(columns)),
            add_constant(to_text(name, "_s"),
                         Tensor::of<float>({directions, rows}, std::span<const float>(scales))),
            add_constant(to_text(name, "_z"), Tensor(DType::kInt8, {directions, rows}))};
  }

  /// One value per output channel, shaped to broadcast over the result.
  ValueId row(const std::string& name, const std::vector<float>& values, bool conv) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Shape shape = conv ? Shape{1, count, 1, 1} : Shape{count};
    return add_constant(name, Tensor::of<float>(shape, std::span<const float>(values)));
  }

  Graph graph_;
  QuantizeReport& report_;
  StoredWeights stored_;
  ValueId middle_ = kNoValue;
  ValueId height_axis_ = kNoValue;
  std::map<ValueId, ValueId> images_;
  std::map<ValueId, Input> inputs_;
  std::map<ValueId, ValueId> reals_;  // inputs of recurrent layers: quantized and dequantized
  std::map<std::tuple<ValueId, std::int64_t, float, std::uint64_t>, ValueId> weights_;
};

}  // namespace

Graph emit_dynamic(const Graph& graph, const Placement& placement, const LayerStages& stages,
                   DynamicLstm lstm, QuantizeReport& report) {
  DynamicEmitter emitter(graph, report);
  for (const NodePlacement& placed : placement.nodes) {
    if (placed.role != NodeRole::kInteger) continue;
    const Node& node = graph.node(placed.id);
    if (is_recurrent(graph, placed.id)) {
      const std::vector<WeightPorts> ports = stored_weight_ports(graph, placed.id);
      // DynamicQuantizeLSTM supports no other order of axes.
      if (lstm == DynamicLstm::kMicrosoft && node.is("LSTM") && node.get_int("layout", 0) == 0) {
        const StagedLayer w = stages(placed.id, ports[0]);
        emitter.correct(w);
        emitter.become_dynamic_lstm(placed.id, w.layer, stages(placed.id, ports[1]).layer);
        continue;
      }
      emitter.measure_input(placed.id);
      for (const WeightPorts& port : ports) emitter.store(stages(placed.id, port));
      continue;
    }
    if (const auto ports = weight_ports(graph, placed.id)) {
      emitter.replace(stages(placed.id, *ports));
    }
  }
  return emitter.finish();
}

}  // namespace qtool
