// Products of quantized matrices with a result in real numbers. They become integer products that
// are multiplied by a scale. qtool writes dynamic quantization in the same form.
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

// The node becomes a MatMulInteger of `a` and input 1. Each row of its result is multiplied by the
// product of both scales; then the bias is added. kNoValue stands for an operand that is left out.
void become_scaled_sums(Upgrade& up, ValueId a, ValueId a_zero, ValueId b_zero, ValueId a_scale,
                        ValueId b_scale, ValueId bias) {
  const ValueId scale = up.before("Mul", {a_scale, b_scale}, "scale");
  // Each call inserts a node directly after this one, so the last call gives the first node.
  if (bias != kNoValue) up.after("Add", {bias}, "scaled");
  up.after("Mul", {scale}, "reals");
  up.after("Cast", {}, "sums", {{"to", std::int64_t{1}}});  // float32
  up.set_op("MatMulInteger");
  up.truncate_inputs(2);
  up.set_input(0, a);
  if (a_zero != kNoValue || b_zero != kNoValue) up.set_input(2, a_zero);
  if (b_zero != kNoValue) up.set_input(3, b_zero);
}

}  // namespace

// Inputs: a, b, scale of b, zero point of b, bias.
void upgrade_dynamic_quantize_matmul(Upgrade& up) {
  const std::vector<ValueId> a =
      up.before_all("DynamicQuantizeLinear", {up.input(0)}, {"left", "left_scale", "left_zero"});
  become_scaled_sums(up, a[0], a[2], up.input(3), a[1], up.input(2), up.input(4));
}

// Inputs: a, b, their scales, their zero points, bias.
void upgrade_matmul_integer_to_float(Upgrade& up) {
  const Tensor* scale = up.constant(2);
  if (scale != nullptr && scale->elements() != 1) {
    up.fail(
        to_text("the scale of its first matrix has ", scale->elements(), " elements, expected 1"));
  }
  become_scaled_sums(up, up.input(0), up.input(4), up.input(5), up.input(2), up.input(3),
                     up.input(6));
}

}  // namespace qtool
