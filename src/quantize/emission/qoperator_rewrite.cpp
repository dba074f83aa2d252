#include "quantize/emission/qoperator_rewrite.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/clamp.h"
#include "graph/constant_float.h"
#include "graph/op_traits.h"
#include "qtool/quant/affine.h"

namespace qtool {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::int64_t kAxisOfRows = 0;

/// A quantized tensor as these operators read it: three consecutive inputs.
struct Operand {
  ValueId integers = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero_point = kNoValue;
};

/// The QuantizeLinear that rounds a result, and the activation before it, which its limits replace.
struct Sink {
  NodeId quantize = kNoNode;
  NodeId activation = kNoNode;
  Operand result;
};

class QOperatorForm {
 public:
  explicit QOperatorForm(Graph& graph) : graph_(graph) {}

  std::int64_t rewrite() {
    const std::vector<NodeId> order = graph_.nodes();
    std::int64_t changed = 0;
    for (const NodeId id : order) {
      // Activations and QuantizeLinear nodes that were merged are already removed.
      if (graph_.contains(id) && graph_.node(id).domain.empty() && rewrite(id)) ++changed;
    }
    if (changed == 0) return 0;
    graph_.remove_dead_nodes();
    graph_.sort();
    graph_.check();
    const auto& nodes = graph_.nodes();
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](NodeId id) { return graph_.node(id).domain == kMicrosoft; })) {
      graph_.info.opsets[std::string(kMicrosoft)] = 1;
    }
    return changed;
  }

 private:
  /// An operator whose form on integers reads the integers, scale and zero point of each operand.
  struct Form {
    std::string_view op_type;
    const char* on_integers;
    std::size_t operands;
  };
  static constexpr auto kForms = std::to_array<Form>({
      {"Add", "QLinearAdd", 2},
      {"AveragePool", "QLinearAveragePool", 1},
      {"GlobalAveragePool", "QLinearGlobalAveragePool", 1},
      {"LeakyRelu", "QLinearLeakyRelu", 1},
      {"Mul", "QLinearMul", 2},
      {"Sigmoid", "QLinearSigmoid", 1},
  });

  bool rewrite(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op_type == "Conv") return conv(id);
    if (node.op_type == "Gemm") return gemm(id);
    if (node.op_type == "MatMul") return matmul(id);
    if (node.op_type == "Concat") return concat(id);
    if (node.op_type == "Softmax") return softmax(id);
    const auto form = std::ranges::find(kForms, node.op_type, &Form::op_type);
    if (form == kForms.end()) return moves(id);
    if (node.has("dilations")) return false;  // QLinearAveragePool has none
    return on_operands(id, form->on_integers, form->operands);
  }

  // ---- reading ----

  [[nodiscard]] const Tensor* constant(ValueId id) const {
    return graph_.is_constant(id) ? graph_.value(id).constant.get() : nullptr;
  }

  [[nodiscard]] bool is_single(ValueId id) const {
    const Tensor* tensor = constant(id);
    return tensor != nullptr && tensor->elements() == 1;
  }

  /// The type of a zero point, if it is an 8-bit type.
  [[nodiscard]] std::optional<DType> type_of(ValueId zero_point) const {
    const Tensor* tensor = constant(zero_point);
    if (tensor == nullptr) return std::nullopt;
    const DType type = tensor->dtype();
    return type == DType::kUInt8 || type == DType::kInt8 ? std::optional(type) : std::nullopt;
  }

  /// The integers of `real`, if it is the result of a DequantizeLinear with one scale.
  [[nodiscard]] std::optional<Operand> source(ValueId real) const {
    if (real == kNoValue || graph_.value(real).producer == kNoNode) return std::nullopt;
    const Node& node = graph_.node(graph_.value(real).producer);
    if (!node.is("DequantizeLinear") || !node.has_input(2)) return std::nullopt;
    if (!is_single(node.inputs[1]) || !is_single(node.inputs[2]) || !type_of(node.inputs[2])) {
      return std::nullopt;
    }
    return Operand{node.inputs[0], node.inputs[1], node.inputs[2]};
  }

  /// The constant integers of `real`, if a DequantizeLinear reads them with one scale or one for
  /// each index of `axis`. The zero point stays kNoValue if the weights have none.
  [[nodiscard]] std::optional<Operand> weights(ValueId real, std::int64_t axis) const {
    if (real == kNoValue || graph_.value(real).producer == kNoNode) return std::nullopt;
    const Node& node = graph_.node(graph_.value(real).producer);
    if (!node.is("DequantizeLinear")) return std::nullopt;
    const Tensor* integers = constant(node.inputs[0]);
    const Tensor* scales = constant(node.inputs[1]);
    if (integers == nullptr || scales == nullptr || scales->shape().rank() > 1) return std::nullopt;
    if (integers->dtype() != DType::kInt8 && integers->dtype() != DType::kUInt8) {
      return std::nullopt;
    }
    if (scales->elements() > 1 && node.get_int("axis", 1) != axis) return std::nullopt;
    Operand found{node.inputs[0], node.inputs[1], kNoValue};
    if (node.has_input(2)) {
      if (constant(node.inputs[2]) == nullptr) return std::nullopt;
      found.zero_point = node.inputs[2];
    }
    return found;
  }

  [[nodiscard]] Affine affine_of(const Operand& operand) const {
    const Tensor& zero = *constant(operand.zero_point);
    const std::int32_t point = zero.dtype() == DType::kInt8 ? zero.values<std::int8_t>()[0]
                                                            : zero.values<std::uint8_t>()[0];
    return {constant(operand.scale)->values<float>()[0], point};
  }

  /// Whether clipping to `bounds` before rounding changes no integer, whatever the real is:
  /// rounding is monotonic, so it is enough that both bounds round to the limits of the type.
  [[nodiscard]] bool saturates_alike(const Range& bounds, const Operand& result) const {
    const Limits limits =
        *type_of(result.zero_point) == DType::kUInt8 ? Limits{0, 255} : Limits{-128, 127};
    const Affine affine = affine_of(result);
    return quantize_value(bounds.min, affine, limits) == limits.min &&
           quantize_value(bounds.max, affine, limits) == limits.max;
  }

  /// The QuantizeLinear that alone reads `real`, directly or after an activation that it replaces.
  [[nodiscard]] std::optional<Sink> sink(ValueId real) const {
    Sink found;
    std::optional<Range> bounds;
    for (int step = 0; step < 2; ++step) {
      const auto& readers = graph_.consumers(real);
      if (graph_.is_output(real) || readers.size() != 1) return std::nullopt;
      const Node& reader = graph_.node(readers[0]);
      if (reader.is("QuantizeLinear")) {
        if (!reader.has_input(2) || reader.inputs[0] != real) return std::nullopt;
        if (!is_single(reader.inputs[1]) || !is_single(reader.inputs[2])) return std::nullopt;
        if (!type_of(reader.inputs[2])) return std::nullopt;
        found.quantize = readers[0];
        found.result = {reader.outputs[0], reader.inputs[1], reader.inputs[2]};
        if (bounds && !saturates_alike(*bounds, found.result)) return std::nullopt;
        return found;
      }
      bounds = clamp_of(graph_, reader);
      if (!bounds || reader.inputs[0] != real) return std::nullopt;
      found.activation = readers[0];
      real = reader.outputs[0];
    }
    return std::nullopt;
  }

  [[nodiscard]] bool same_type(const Operand& a, const Operand& b) const {
    return type_of(a.zero_point) == type_of(b.zero_point);
  }

  /// The int32 bias of a product. It can only be added to the sums if it has their scale. kNoValue
  /// if there is no bias, nothing if it does not fit.
  [[nodiscard]] std::optional<ValueId> bias(const Node& node, const Operand& x,
                                            const Operand& w) const {
    if (!node.has_input(2)) return kNoValue;
    const NodeId producer = graph_.value(node.inputs[2]).producer;
    if (producer == kNoNode || !graph_.node(producer).is("DequantizeLinear")) return std::nullopt;
    const Node& dequantize = graph_.node(producer);
    const Tensor* integers = constant(dequantize.inputs[0]);
    const Tensor* scales = constant(dequantize.inputs[1]);
    if (integers == nullptr || scales == nullptr || dequantize.has_input(2)) return std::nullopt;
    if (integers->dtype() != DType::kInt32 || integers->shape().rank() != 1) return std::nullopt;
    const auto of_sums = constant(w.scale)->values<float>();
    const float of_input = constant(x.scale)->values<float>()[0];
    const auto found = scales->values<float>();
    if (found.size() != of_sums.size() && of_sums.size() != 1) return std::nullopt;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != of_input * of_sums[of_sums.size() == 1 ? 0 : i]) return std::nullopt;
    }
    return dequantize.inputs[0];
  }

  // ---- writing ----

  void set_inputs(NodeId id, const std::vector<ValueId>& inputs) {
    graph_.truncate_inputs(id, std::min(inputs.size(), graph_.node(id).inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) graph_.set_input(id, i, inputs[i]);
  }

  /// Makes the node write the integers that `sink` made of its real result.
  void give_integers(NodeId id, std::size_t output, const Sink& sink) {
    graph_.remove_node(sink.quantize);
    if (sink.activation != kNoNode) graph_.remove_node(sink.activation);
    graph_.set_output(id, output, sink.result.integers);
  }

  /// The zero points of weights. Zeros if they have none: one per scale if `like_scales`, else one.
  ValueId zero_point_of(const Operand& weights, bool like_scales) {
    if (weights.zero_point != kNoValue) return weights.zero_point;
    const Shape shape = like_scales ? constant(weights.scale)->shape() : Shape{};
    for (const auto& [known, id] : zeros_) {
      if (known == shape) return id;
    }
    const ValueId id = graph_.add_constant(graph_.unique_name("zeros"),
                                           Tensor(constant(weights.integers)->dtype(), shape));
    zeros_.emplace_back(shape, id);
    return id;
  }

  // ---- operators ----

  bool conv(NodeId id) {
    const Node& node = graph_.node(id);
    const auto x = source(node.inputs[0]);
    const auto w = weights(node.inputs[1], kAxisOfRows);
    const auto end = sink(node.outputs[0]);
    if (!x || !w || !end || !same_type(*x, end->result)) return false;
    const std::optional<ValueId> addend = bias(node, *x, *w);
    if (!addend) return false;
    std::vector<ValueId> inputs = {x->integers,       x->scale,
                                   x->zero_point,     w->integers,
                                   w->scale,          zero_point_of(*w, false),
                                   end->result.scale, end->result.zero_point};
    if (*addend != kNoValue) inputs.push_back(*addend);
    set_inputs(id, inputs);
    graph_.set_op(id, "QLinearConv");
    give_integers(id, 0, *end);
    return true;
  }

  bool gemm(NodeId id) {
    const Node& node = graph_.node(id);
    const bool plain = node.get_float("alpha", 1.0F) == 1.0F &&
                       node.get_float("beta", 1.0F) == 1.0F && node.get_int("transA", 0) == 0;
    const auto x = source(node.inputs[0]);
    const auto w = weights(node.inputs[1], node.get_int("transB", 0) != 0 ? 0 : 1);
    if (!plain || !x || !w) return false;
    const std::optional<ValueId> addend = bias(node, *x, *w);
    if (!addend) return false;
    // Without a QuantizeLinear, the result of QGemm is real.
    const auto end = sink(node.outputs[0]);
    if (end && !same_type(*x, end->result)) return false;
    std::vector<ValueId> inputs = {x->integers, x->scale, x->zero_point,
                                   w->integers, w->scale, zero_point_of(*w, true)};
    if (*addend != kNoValue || end) inputs.push_back(*addend);
    if (end) {
      inputs.push_back(end->result.scale);
      inputs.push_back(end->result.zero_point);
    }
    set_inputs(id, inputs);
    graph_.attributes(id).erase("beta");
    graph_.set_op(id, "QGemm", std::string(kMicrosoft));
    if (end) give_integers(id, 0, *end);
    return true;
  }

  bool matmul(NodeId id) {
    const Node& node = graph_.node(id);
    const auto a = source(node.inputs[0]);
    const auto end = sink(node.outputs[0]);
    if (!a || !end || !same_type(*a, end->result)) return false;
    std::optional<Operand> b = source(node.inputs[1]);
    if (!b) {
      // ONNX defines scales of columns for matrices only.
      b = weights(node.inputs[1], 1);
      if (!b || constant(b->integers)->shape().rank() != 2) return false;
      b->zero_point = zero_point_of(*b, true);
    }
    set_inputs(id, {a->integers, a->scale, a->zero_point, b->integers, b->scale, b->zero_point,
                    end->result.scale, end->result.zero_point});
    graph_.set_op(id, "QLinearMatMul");
    give_integers(id, 0, *end);
    return true;
  }

  /// For operators of ONNX Runtime that read `count` operands, then the scale and the zero point of
  /// the result.
  bool on_operands(NodeId id, std::string op_type, std::size_t count) {
    const Node& node = graph_.node(id);
    const auto end = sink(node.outputs[0]);
    if (!end || node.inputs.size() != count) return false;
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const auto operand = source(input);
      if (!operand || !same_type(*operand, end->result)) return false;
      inputs.insert(inputs.end(), {operand->integers, operand->scale, operand->zero_point});
    }
    inputs.insert(inputs.end(), {end->result.scale, end->result.zero_point});
    set_inputs(id, inputs);
    graph_.set_op(id, std::move(op_type), std::string(kMicrosoft));
    give_integers(id, 0, *end);
    return true;
  }

  bool softmax(NodeId id) {
    const std::int64_t axis = graph_.node(id).get_int("axis", -1);
    if (!on_operands(id, "QLinearSoftmax", 1)) return false;
    constexpr std::int64_t kOpsetOfAxes = 13;  // since 13, a row is along one axis
    graph_.attributes(id)["axis"] = axis;
    graph_.attributes(id)["opset"] = kOpsetOfAxes;
    return true;
  }

  bool concat(NodeId id) {
    const Node& node = graph_.node(id);
    const auto end = sink(node.outputs[0]);
    if (!end) return false;
    std::vector<ValueId> inputs = {end->result.scale, end->result.zero_point};
    for (const ValueId input : node.inputs) {
      const auto operand = source(input);
      if (!operand || !same_type(*operand, end->result)) return false;
      inputs.insert(inputs.end(), {operand->integers, operand->scale, operand->zero_point});
    }
    set_inputs(id, inputs);
    graph_.set_op(id, "QLinearConcat", std::string(kMicrosoft));
    give_integers(id, 0, *end);
    return true;
  }

  /// Whether ONNX Runtime moves bytes by this operator. Its SpaceToDepth has real kernels only.
  /// Resize in modes other than nearest and MaxPool with other than 2 spatial axes round.
  [[nodiscard]] bool moves_bytes(const Node& node) const {
    if (node.op_type == "Resize") return node.get_string("mode", "nearest") == "nearest";
    if (node.op_type == "MaxPool") {
      return !node.has_output(1) && std::ssize(node.get_ints("kernel_shape", {})) == 2;
    }
    return node.op_type != "SpaceToDepth" && traits_of(node).kind == OpKind::kMoving;
  }

  /// Whether a Pad adds zeros. On integers, its input 2 is then the zero point.
  [[nodiscard]] bool pads_with_zeros(const Node& node) const {
    if (node.get_string("mode", "constant") != "constant") return false;
    if (!node.has_input(2)) return true;
    const std::optional<float> value = constant_float(graph_, node.inputs[2]);
    return value && *value == 0.0F;
  }

  /// Makes an operator that moves elements move integers, if all tensors have one scale.
  bool moves(NodeId id) {
    const Node& node = graph_.node(id);
    if (!moves_bytes(node) || node.inputs.empty()) return false;
    const auto x = source(node.inputs[0]);
    if (!x) return false;
    const bool pads = node.op_type == "Pad";
    if (pads && !pads_with_zeros(node)) return false;
    std::vector<Sink> ends;
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) return false;
      auto end = sink(output);
      if (!end || end->activation != kNoNode || !same_type(*x, end->result) ||
          affine_of(*x) != affine_of(end->result)) {
        return false;
      }
      ends.push_back(*end);
    }
    graph_.set_input(id, 0, x->integers);
    if (pads) graph_.set_input(id, 2, x->zero_point);
    for (std::size_t i = 0; i < ends.size(); ++i) give_integers(id, i, ends[i]);
    return true;
  }

  Graph& graph_;
  std::vector<std::pair<Shape, ValueId>> zeros_;
};

}  // namespace

std::int64_t to_qoperator_form(Graph& graph) { return QOperatorForm(graph).rewrite(); }

}  // namespace qtool
