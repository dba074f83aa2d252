// Operators with integer inputs and outputs become the operator on real numbers between
// DequantizeLinear and QuantizeLinear. So all later passes see one form of quantized models, and
// lowering turns it into integer operators again. An operand consists of three consecutive inputs:
// integers, scale, zero point.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "graph/op_traits.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

/// The maximum number of operands of a QLinearConcat. Replacing inputs one by one takes time
/// proportional to the square of their number.
constexpr std::size_t kMaxOperands = 4096;

// A constant scale or zero point with one element, as a scalar. All other inputs are returned as
// they are.
ValueId scalar(Upgrade& up, std::size_t index, std::string_view suffix) {
  const Tensor* tensor = up.constant(index);
  if (tensor == nullptr || tensor->elements() != 1 || tensor->shape().rank() == 0) {
    return up.input(index);
  }
  return up.add_constant(suffix, tensor->clone().reshaped(Shape{}));
}

// The zero point at input `index`, with one element for each scale at the input before it. ONNX
// Runtime accepts a single zero point for several scales.
ValueId zero_point(Upgrade& up, std::size_t index, std::string_view suffix) {
  const Tensor* point = up.constant(index);
  const Tensor* scales = up.constant(index - 1);
  const bool repeat = point != nullptr && scales != nullptr && point->elements() == 1 &&
                      scales->elements() > 1 && scales->shape().rank() == 1;
  if (!repeat) return scalar(up, index, suffix);
  Tensor all(point->dtype(), scales->shape());
  const std::int64_t size = size_of(point->dtype());
  for (std::int64_t i = 0; i < all.elements(); ++i) {
    std::copy_n(point->data(), size, all.data() + i * size);
  }
  return up.add_constant(suffix, std::move(all));
}

// Dequantizes the operand that begins at input `first`.
ValueId dequantized(Upgrade& up, std::size_t first, std::string_view suffix,
                    Node::AttributeMap attributes = {}) {
  std::vector<ValueId> inputs{up.input(first), scalar(up, first + 1, to_text(suffix, "_scale"))};
  if (up.input(first + 2) != kNoValue) {
    inputs.push_back(zero_point(up, first + 2, to_text(suffix, "_zero_point")));
  }
  return up.before("DequantizeLinear", std::move(inputs), suffix, std::move(attributes));
}

// Quantizes the result with the scale at input `scale` and with `zero_point`.
void quantize_result(Upgrade& up, std::size_t scale, ValueId zero_point,
                     Node::AttributeMap attributes = {}) {
  up.after("QuantizeLinear", {scalar(up, scale, "result_scale"), zero_point}, "real",
           std::move(attributes));
}

// ---- one scale for the whole tensor ----

void require_single(const Upgrade& up, std::size_t index) {
  const Tensor* tensor = up.constant(index);
  if (tensor == nullptr || tensor->elements() == 1) return;
  up.fail(to_text("the scale or zero point of input ", index, " has ", tensor->elements(),
                  " elements, expected 1"));
}

ValueId dequantized_tensor(Upgrade& up, std::size_t first, std::string_view suffix) {
  require_single(up, first + 1);
  require_single(up, first + 2);
  return dequantized(up, first, suffix);
}

// The element type of a value, if declarations and QuantizeLinear nodes determine it.
std::optional<DType> type_of(const Graph& graph, ValueId id) {
  constexpr int kMaxSteps = 500;  // operators that keep the type
  for (int step = 0; id != kNoValue && step < kMaxSteps; ++step) {
    const Value& value = graph.value(id);
    if (value.constant != nullptr) return value.constant->dtype();
    if (value.dtype || value.producer == kNoNode) return value.dtype;
    const Node& node = graph.node(value.producer);
    const OpTraits& traits = traits_of(node);
    std::size_t source = 0;
    if (traits.type == TypeRule::kZeroPoint) {
      if (!node.has_input(2)) return DType::kUInt8;
      source = 2;
    } else if (traits.type != TypeRule::kInput0 || !traits.runs) {
      return std::nullopt;
    }
    id = node.has_input(source) ? node.inputs[source] : kNoValue;
  }
  return std::nullopt;
}

// The zero point of the result, at input `index`. If that input is left out, the zero point is 0 in
// the type of the operand at input `like`.
ValueId result_zero_point(Upgrade& up, std::size_t index, std::size_t like) {
  if (up.input(index) != kNoValue) return scalar(up, index, "result_zero_point");
  std::optional<DType> type = type_of(up.graph(), up.input(like + 2));
  if (!type) type = type_of(up.graph(), up.input(like));
  if (!type) up.fail("the type of its result is unknown: it has no zero point");
  return up.add_constant("result_zero_point", Tensor(*type, {}));
}

void quantize_tensor(Upgrade& up, std::size_t scale, std::size_t like) {
  require_single(up, scale);
  require_single(up, scale + 1);
  quantize_result(up, scale, result_zero_point(up, scale + 1, like));
}

// The node becomes `op_type` on real numbers. It reads `inputs`, then the dequantized operands that
// begin at the inputs `operands`. The scale of its result is at input `result`.
void compute_on_reals(Upgrade& up, std::string op_type, const std::vector<std::size_t>& operands,
                      std::size_t result, std::vector<ValueId> inputs = {}) {
  for (const std::size_t operand : operands) {
    inputs.push_back(dequantized_tensor(up, operand, to_text("input_", inputs.size())));
  }
  quantize_tensor(up, result, operands.front());
  up.set_op(std::move(op_type));
  for (std::size_t i = 0; i < inputs.size(); ++i) up.set_input(i, inputs[i]);
  up.truncate_inputs(inputs.size());
}

// ---- products ----

// The scale of the sums of a product: the scale of input 0 times the scales of the weights.
ValueId sum_scale(Upgrade& up) {
  const Tensor* x = up.constant(1);
  const Tensor* w = up.constant(4);
  if (x == nullptr || w == nullptr || x->dtype() != DType::kFloat32 ||
      w->dtype() != DType::kFloat32 || x->elements() != 1) {
    return up.before("Mul", {up.input(1), up.input(4)}, "bias_scale");
  }
  Tensor product = w->elements() == 1 ? w->clone().reshaped(Shape{}) : w->clone();
  for (float& value : product.values<float>()) value *= x->values<float>()[0];
  return up.add_constant("bias_scale", std::move(product));
}

// The int32 addend of QGemm as real numbers. It may have any shape that broadcasts to the result.
ValueId real_addend(Upgrade& up) {
  constexpr std::size_t kAddend = 6;
  const float alpha = up.node().get_float("alpha", 1.0F);
  const Tensor* scales = up.constant(4);
  const Tensor* addend = up.constant(kAddend);
  const ValueId scale = sum_scale(up);
  const bool whole = scales != nullptr && scales->elements() == 1;
  const bool row =
      scales != nullptr && addend != nullptr && addend->elements() == scales->elements() &&
      (addend->shape().rank() == 1 || (addend->shape().rank() == 2 && addend->shape()[0] == 1));
  if (alpha == 1.0F && (whole || row)) {
    ValueId integers = up.input(kAddend);
    if (row) integers = up.add_constant("addend", addend->clone().reshaped({addend->elements()}));
    return up.before("DequantizeLinear", {integers, scale}, "bias", {{"axis", std::int64_t{0}}});
  }
  const ValueId reals =
      up.before("Cast", {up.input(kAddend)}, "sums", {{"to", std::int64_t{1}}});  // float32
  const ValueId scaled = up.before("Mul", {reals, scale}, "bias");
  if (alpha == 1.0F) return scaled;
  return up.before("Mul", {scaled, up.add_constant("alpha", Tensor::scalar(alpha))}, "bias");
}

// Adds Transpose nodes: the operator works on [N, C, ...], but the model has [N, ..., C].
void move_channels(Upgrade& up, std::int64_t rank) {
  if (rank < 2) up.fail(to_text("its input has ", rank, " axes, expected at least 2"));
  std::vector<std::int64_t> to{0, rank - 1};
  std::vector<std::int64_t> back{0};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) to.push_back(axis);
  for (std::int64_t axis = 2; axis < rank; ++axis) back.push_back(axis);
  back.push_back(1);
  up.set_input(
      0, up.before("Transpose", {up.input(0)}, "input_channels_first", {{"perm", std::move(to)}}));
  up.after("Transpose", {}, "channels_first", {{"perm", std::move(back)}});
}

bool takes_channels_last(Upgrade& up) { return up.take_int("channels_last").value_or(0) != 0; }

std::int64_t window_rank(const Upgrade& up) {
  return std::ssize(up.node().get_ints("kernel_shape", {})) + 2;
}

}  // namespace

void upgrade_qlinear_conv(Upgrade& up) {
  const ValueId x = dequantized(up, 0, "input");
  const ValueId w = dequantized(up, 3, "weights", {{"axis", std::int64_t{0}}});
  ValueId bias = kNoValue;
  if (up.input(8) != kNoValue) {
    bias = up.before("DequantizeLinear", {up.input(8), sum_scale(up)}, "bias",
                     {{"axis", std::int64_t{0}}});
  }
  quantize_result(up, 6, scalar(up, 7, "result_zero_point"));
  up.set_op("Conv");
  up.set_input(0, x);
  up.set_input(1, w);
  if (bias != kNoValue) up.set_input(2, bias);
  up.truncate_inputs(bias == kNoValue ? 2 : 3);
}

// Scales of several elements belong to the rows of the first matrix and of the result, and to the
// columns of the second one.
void upgrade_qlinear_matmul(Upgrade& up) {
  const ValueId a = dequantized(up, 0, "left", {{"axis", std::int64_t{-2}}});
  const ValueId b = dequantized(up, 3, "right", {{"axis", std::int64_t{-1}}});
  quantize_result(up, 6, scalar(up, 7, "result_zero_point"), {{"axis", std::int64_t{-2}}});
  up.set_op("MatMul");
  up.set_input(0, a);
  up.set_input(1, b);
  up.truncate_inputs(2);
}

void upgrade_microsoft_qlinear_conv(Upgrade& up) {
  if (takes_channels_last(up)) move_channels(up, up.require_rank(3));
  upgrade_qlinear_conv(up);
}

// alpha a b + alpha c, where c has the scale of the sums of a b. The result stays in real numbers
// if the node gives no scale for it.
void upgrade_qgemm(Upgrade& up) {
  const std::int64_t columns = up.node().get_int("transB", 0) != 0 ? 0 : 1;
  const bool quantized = up.input(7) != kNoValue;
  if (quantized != (up.input(8) != kNoValue)) {
    up.fail("its result has a scale or a zero point, expected both or none");
  }
  const ValueId a = dequantized_tensor(up, 0, "left");
  const ValueId b = dequantized(up, 3, "right", {{"axis", columns}});
  const ValueId c = up.input(6) == kNoValue ? kNoValue : real_addend(up);
  if (quantized) quantize_tensor(up, 7, 0);
  up.set_op("Gemm");
  up.set_input(0, a);
  up.set_input(1, b);
  if (c != kNoValue) up.set_input(2, c);
  up.truncate_inputs(c == kNoValue ? 2 : 3);
}

void upgrade_qlinear_add(Upgrade& up) { compute_on_reals(up, "Add", {0, 3}, 6); }
void upgrade_qlinear_mul(Upgrade& up) { compute_on_reals(up, "Mul", {0, 3}, 6); }
void upgrade_qlinear_sigmoid(Upgrade& up) { compute_on_reals(up, "Sigmoid", {0}, 3); }
void upgrade_qlinear_leaky_relu(Upgrade& up) { compute_on_reals(up, "LeakyRelu", {0}, 3); }
void upgrade_qlinear_where(Upgrade& up) { compute_on_reals(up, "Where", {1, 4}, 7, {up.input(0)}); }

void upgrade_qlinear_global_average_pool(Upgrade& up) {
  if (takes_channels_last(up)) move_channels(up, up.require_rank(0));
  compute_on_reals(up, "GlobalAveragePool", {0}, 3);
}

void upgrade_qlinear_average_pool(Upgrade& up) {
  if (takes_channels_last(up)) move_channels(up, window_rank(up));
  compute_on_reals(up, "AveragePool", {0}, 3);
}

// NhwcMaxPool is a MaxPool on integers with the channels on the last axis.
void upgrade_nhwc_max_pool(Upgrade& up) {
  move_channels(up, window_rank(up));
  up.set_op("MaxPool");
}

void upgrade_qlinear_concat(Upgrade& up) {
  if (!up.node().has("axis")) up.fail("attribute 'axis' is missing");
  std::vector<std::size_t> operands;
  for (std::size_t i = 2; i < up.node().inputs.size(); i += 3) operands.push_back(i);
  if (operands.empty() || operands.back() + 3 != up.node().inputs.size()) {
    up.fail(to_text("found ", up.node().inputs.size(),
                    " inputs, expected a scale, a zero point and three inputs for each operand"));
  }
  if (operands.size() > kMaxOperands) {
    up.fail(to_text("found ", operands.size(), " operands, expected at most ", kMaxOperands));
  }
  compute_on_reals(up, "Concat", operands, 0);
}

// The attribute `opset` selects the version of Softmax. Without the attribute `axis`, the axis is
// the last one.
void upgrade_qlinear_softmax(Upgrade& up) {
  const std::optional<std::int64_t> opset = up.take_int("opset");
  if (!opset) up.fail("attribute 'opset' is missing");
  up.attributes().try_emplace("axis", std::int64_t{-1});
  compute_on_reals(up, "Softmax", {0}, 3);
  up.become("Softmax", *opset);
}

// QuantizeLinear and DequantizeLinear: without the attribute `axis` there is one scale for the
// whole tensor.
void upgrade_microsoft_quantization(Upgrade& up) {
  if (!up.node().has("axis")) {
    require_single(up, 1);
    require_single(up, 2);
  }
  const ValueId scale = scalar(up, 1, "scale");
  const ValueId zero = zero_point(up, 2, "zero_point");
  up.set_input(1, scale);
  if (zero != kNoValue) up.set_input(2, zero);
  up.set_op(up.node().op_type);
}

}  // namespace qtool
