// Splits the fused operators of ONNX Runtime's optimizer into the operators that they were made of.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

struct Activation {
  std::string_view op_type;
  std::array<std::string_view, 2> parameters;  // names of its attributes, empty if unused
};

constexpr auto kActivations = std::to_array<Activation>({
    {"Clip", {"min", "max"}},
    {"Elu", {"alpha", ""}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"HardSwish", {}},
    {"LeakyRelu", {"alpha", ""}},
    {"Relu", {}},
    {"Selu", {"alpha", "gamma"}},
    {"Sigmoid", {}},
    {"Silu", {}},
    {"Softplus", {}},
    {"Softsign", {}},
    {"Tanh", {}},
    {"ThresholdedRelu", {"alpha", ""}},
});

// The activation that the node names; null without one.
const Activation* take_activation(Upgrade& up) {
  const std::optional<std::string> name = up.take_string("activation");
  if (!name || name->empty()) return nullptr;
  const auto found = std::ranges::find(kActivations, *name, &Activation::op_type);
  if (found == kActivations.end()) up.fail(to_text("activation '", *name, "' is not supported"));
  return &*found;
}

void activate(Upgrade& up, const Activation& activation, Node::AttributeMap parameters) {
  if (activation.op_type == "Clip") {
    std::vector<ValueId> limits;
    for (const std::string_view name : activation.parameters) {
      const auto limit = parameters.find(name);
      if (limit == parameters.end()) up.fail(to_text("activation Clip has no '", name, "'"));
      limits.push_back(up.add_constant(name, Tensor::scalar(std::get<float>(limit->second))));
    }
    up.after("Clip", std::move(limits), "real");
  } else if (activation.op_type == "Silu") {
    const ValueId gate = up.add_value("gate");
    const ValueId real = up.after("Mul", {gate}, "real");
    up.after("Sigmoid", {real}, gate);
  } else {
    up.after(activation.op_type, {}, "real", std::move(parameters));
  }
}

void multiply_result(Upgrade& up, float factor) {
  if (factor == 1.0F) return;
  up.after("Mul", {up.add_constant("alpha", Tensor::scalar(factor))}, "product");
}

// Transposes an operand as its attributes demand; `side` is A or B. The attribute transBatch moves
// the first axis behind the other batch axes, in front of the last axis. After that, the attribute
// trans exchanges the last two axes. A vector stays as it is.
void transpose_operand(Upgrade& up, std::size_t index, std::string_view side) {
  const bool last = up.take_int(to_text("trans", side)).value_or(0) != 0;
  const bool batch = up.take_int(to_text("transBatch", side)).value_or(0) != 0;
  if (!last && !batch) return;
  const std::int64_t rank = up.require_rank(index);
  if (rank < 2) return;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  up.set_input(index, up.before("Transpose", {up.input(index)}, "transposed", {{"perm", perm}}));
}

// The node becomes the GELU of input 0, or its approximation by tanh. Its other inputs are removed.
void become_gelu(Upgrade& up, std::string approximate) {
  up.truncate_inputs(1);
  up.attributes()["approximate"] = std::move(approximate);
  up.become("Gelu", 20);
}

}  // namespace

// activation(conv(x, w) + b + z)
void upgrade_fused_conv(Upgrade& up) {
  const std::vector<float> values =
      up.take_floats("activation_params").value_or(std::vector<float>());
  if (const Activation* activation = take_activation(up)) {
    const auto& names = activation->parameters;
    const auto count =
        static_cast<std::size_t>(std::ranges::find(names, std::string_view()) - names.begin());
    if (values.size() != count) {
      up.fail(to_text("activation ", activation->op_type, " has ", values.size(),
                      " parameters, expected ", count));
    }
    Node::AttributeMap parameters;
    for (std::size_t i = 0; i < count; ++i) parameters.emplace(names[i], values[i]);
    activate(up, *activation, std::move(parameters));
  }
  if (up.input(3) != kNoValue) up.after("Add", {up.input(3)}, "product");
  up.set_op("Conv");
  up.truncate_inputs(up.input(2) == kNoValue ? 2 : 3);
}

void upgrade_fused_gemm(Upgrade& up) {
  const Activation* activation = take_activation(up);
  Node::AttributeMap parameters;
  for (const std::string_view name : {"alpha", "beta", "gamma"}) {
    const std::optional<float> value = up.take_float(to_text("activation_", name));
    if (!value || activation == nullptr) continue;
    if (std::ranges::find(activation->parameters, name) == activation->parameters.end()) continue;
    parameters.emplace(name, *value);
  }
  if (activation != nullptr) activate(up, *activation, std::move(parameters));
  up.set_op("Gemm");
}

// FusedMatMul, and TransposeMatMul, which is its former name.
void upgrade_fused_matmul(Upgrade& up) {
  transpose_operand(up, 0, "A");
  transpose_operand(up, 1, "B");
  multiply_result(up, up.take_float("alpha").value_or(1.0F));
  up.set_op("MatMul");
}

void upgrade_microsoft_gelu(Upgrade& up) { become_gelu(up, "none"); }

void upgrade_bias_gelu(Upgrade& up) {
  up.set_input(0, up.before("Add", {up.input(0), up.input(1)}, "biased"));
  become_gelu(up, "none");
}

void upgrade_fast_gelu(Upgrade& up) {
  if (up.input(1) != kNoValue) {
    up.set_input(0, up.before("Add", {up.input(0), up.input(1)}, "biased"));
  }
  become_gelu(up, "tanh");
}

// x * sigmoid(alpha x)
void upgrade_quick_gelu(Upgrade& up) {
  up.attributes().try_emplace("alpha", 1.702F);
  up.become("Swish", 24);
}

// Outputs: the normalised sum of x, skip and bias; the mean of the sum; its inverse standard
// deviation; the sum itself.
void upgrade_skip_layer_normalization(Upgrade& up) {
  constexpr std::size_t kSum = 3;
  const ValueId result = up.node().has_output(kSum) ? up.node().outputs[kSum] : kNoValue;
  up.truncate_outputs(kSum);
  std::vector<ValueId> terms{up.input(0), up.input(1)};
  if (up.input(4) != kNoValue)
    terms = {up.before("Add", std::move(terms), "unbiased"), up.input(4)};
  ValueId sum = result;
  if (result == kNoValue) {
    sum = up.before("Add", std::move(terms), "sum");
  } else {
    up.before("Add", std::move(terms), result);
  }
  up.attributes().try_emplace("epsilon", 1e-12F);
  up.attributes()["axis"] = std::int64_t{-1};
  up.set_op("LayerNormalization");
  const ValueId gamma = up.input(2);
  const ValueId beta = up.input(3);
  up.set_input(0, sum);
  up.set_input(1, gamma);
  up.truncate_inputs(2);
  if (beta != kNoValue) up.set_input(2, beta);
}

}  // namespace qtool
