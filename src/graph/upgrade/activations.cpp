// Activation functions. Those that have no operator in opset 17 become several nodes.
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

// x times a constant.
ValueId scaled(Upgrade& up, ValueId x, double factor, std::string_view suffix) {
  const ValueId constant = up.add_constant("factor", Tensor::scalar(static_cast<float>(factor)));
  return up.before("Mul", {x, constant}, suffix);
}

// The node becomes `a * b`.
void become_product(Upgrade& up, ValueId a, ValueId b) {
  up.set_op("Mul");
  up.set_input(0, a);
  up.set_input(1, b);
}

}  // namespace

// Opset 6 gave the defaults more digits.
void upgrade_selu(Upgrade& up) {
  if (up.from() >= 6) return;
  up.attributes().try_emplace("alpha", 1.6732F);
  up.attributes().try_emplace("gamma", 1.0507F);
}

// x / 2 * (1 + erf(x / sqrt 2)), or its approximation by tanh.
void upgrade_gelu(Upgrade& up) {
  const std::string approximate = up.take_string("approximate").value_or("none");
  const ValueId x = up.input(0);
  ValueId bent = kNoValue;
  if (approximate == "tanh") {
    const ValueId square = up.before("Mul", {x, x}, "square");
    const ValueId cube = up.before("Mul", {square, x}, "cube");
    const ValueId small = scaled(up, cube, 0.044715, "small");
    const ValueId sum = up.before("Add", {x, small}, "sum");
    const double factor = std::sqrt(2.0 / std::numbers::pi);
    bent = up.before("Tanh", {scaled(up, sum, factor, "argument")}, "tanh");
  } else if (approximate == "none") {
    bent = up.before("Erf", {scaled(up, x, 1.0 / std::numbers::sqrt2, "argument")}, "erf");
  } else {
    up.fail("attribute 'approximate' is neither 'none' nor 'tanh'");
  }
  const ValueId one = up.add_constant("one", Tensor::scalar(1.0F));
  const ValueId shifted = up.before("Add", {bent, one}, "shifted");
  become_product(up, scaled(up, x, 0.5, "half"), shifted);
}

// x * tanh(softplus(x))
void upgrade_mish(Upgrade& up) {
  const ValueId soft = up.before("Softplus", {up.input(0)}, "softplus");
  become_product(up, up.input(0), up.before("Tanh", {soft}, "tanh"));
}

// x * sigmoid(alpha x)
void upgrade_swish(Upgrade& up) {
  const float alpha = up.take_float("alpha").value_or(1.0F);
  const ValueId x = up.input(0);
  const ValueId argument =
      alpha == 1.0F ? x : scaled(up, x, static_cast<double>(alpha), "argument");
  become_product(up, x, up.before("Sigmoid", {argument}, "sigmoid"));
}

}  // namespace qtool
