// Operators that take and give integers become the operator on reals between DequantizeLinear and
// QuantizeLinear: one form of quantized models for everything behind, and lowering makes integer
// operators of it again.
#include <cstddef>
#include <utility>

#include "graph/upgrade.h"

namespace qtool {
namespace {

// A scale or zero point of one element as a scalar; others and computed ones stay.
ValueId scalar(Upgrade& up, std::size_t index, std::string_view suffix) {
  const Tensor* tensor = up.constant(index);
  if (tensor == nullptr || tensor->elements() != 1 || tensor->shape().rank() == 0) {
    return up.input(index);
  }
  return up.add_constant(suffix, tensor->clone().reshaped(Shape{}));
}

ValueId dequantized(Upgrade& up, std::size_t first, std::int64_t axis, std::string_view suffix) {
  const ValueId scale = scalar(up, first + 1, "scale");
  const ValueId zero_point = scalar(up, first + 2, "zero_point");
  return up.before("DequantizeLinear", {up.input(first), scale, zero_point}, suffix,
                   {{"axis", axis}});
}

// The int32 bias of a convolution: its scale is that of the input times those of the weights.
ValueId real_bias(Upgrade& up) {
  const Tensor* x = up.constant(1);
  const Tensor* w = up.constant(4);
  ValueId scale = kNoValue;
  if (x != nullptr && w != nullptr && x->dtype() == DType::kFloat32 &&
      w->dtype() == DType::kFloat32 && x->elements() == 1) {
    Tensor product = w->elements() == 1 ? w->clone().reshaped(Shape{}) : w->clone();
    for (float& value : product.values<float>()) value *= x->values<float>()[0];
    scale = up.add_constant("bias_scale", std::move(product));
  } else {
    scale = up.before("Mul", {up.input(1), up.input(4)}, "bias_scale");
  }
  return up.before("DequantizeLinear", {up.input(8), scale}, "bias", {{"axis", std::int64_t{0}}});
}

void quantize_result(Upgrade& up, std::int64_t axis) {
  const ValueId scale = scalar(up, 6, "scale");
  const ValueId zero_point = scalar(up, 7, "zero_point");
  up.after("QuantizeLinear", {scale, zero_point}, "real", {{"axis", axis}});
}

}  // namespace

void upgrade_qlinear_conv(Upgrade& up) {
  const ValueId x = dequantized(up, 0, 1, "input");
  const ValueId w = dequantized(up, 3, 0, "weights");
  const ValueId bias = up.input(8) == kNoValue ? kNoValue : real_bias(up);
  quantize_result(up, 1);
  up.set_op("Conv");
  up.set_input(0, x);
  up.set_input(1, w);
  if (bias != kNoValue) up.set_input(2, bias);
  up.truncate_inputs(bias == kNoValue ? 2 : 3);
}

// Scales of several elements belong to the rows of the first matrix and of the result, and to the
// columns of the second one.
void upgrade_qlinear_matmul(Upgrade& up) {
  const ValueId a = dequantized(up, 0, -2, "left");
  const ValueId b = dequantized(up, 3, -1, "right");
  quantize_result(up, -2);
  up.set_op("MatMul");
  up.set_input(0, a);
  up.set_input(1, b);
  up.truncate_inputs(2);
}

}  // namespace qtool
