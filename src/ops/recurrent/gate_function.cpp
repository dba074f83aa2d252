#include "ops/recurrent/gate_function.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "base/text.h"

namespace qtool {
namespace {

using Kind = GateFunction::Kind;

struct FunctionRow {
  std::string_view name;
  Kind kind;
  std::optional<float> alpha;  // the default; nothing: no such parameter
  std::optional<float> beta;
};
constexpr std::array kFunctions = {
    FunctionRow{"affine", Kind::kAffine, 1.0F, 0.0F},
    FunctionRow{"elu", Kind::kElu, 1.0F, std::nullopt},
    FunctionRow{"hardsigmoid", Kind::kHardSigmoid, 0.2F, 0.5F},
    FunctionRow{"leakyrelu", Kind::kLeakyRelu, 0.01F, std::nullopt},
    FunctionRow{"relu", Kind::kRelu, std::nullopt, std::nullopt},
    FunctionRow{"scaledtanh", Kind::kScaledTanh, 1.0F, 1.0F},
    FunctionRow{"sigmoid", Kind::kSigmoid, std::nullopt, std::nullopt},
    FunctionRow{"softplus", Kind::kSoftplus, std::nullopt, std::nullopt},
    FunctionRow{"softsign", Kind::kSoftsign, std::nullopt, std::nullopt},
    FunctionRow{"tanh", Kind::kTanh, std::nullopt, std::nullopt},
    FunctionRow{"thresholdedrelu", Kind::kThresholdedRelu, 1.0F, std::nullopt}};

// An attribute that is a list of numbers or names; empty when it is missing.
template <typename T>
std::vector<T> list_of(const OpContext& op, std::string_view key) {
  const auto found = op.node.attributes.find(key);
  if (found == op.node.attributes.end()) return {};
  const auto* list = std::get_if<std::vector<T>>(&found->second);
  op.require(list != nullptr, to_text("attribute '", key, "' has another type than expected"));
  return *list;
}

// Ignores upper and lower case, as ONNX Runtime does.
const FunctionRow& find_function(const OpContext& op, const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto row = std::ranges::find(kFunctions, lower, &FunctionRow::name);
  if (row == kFunctions.end()) op.fail(to_text("activation '", name, "' is unknown"));
  return *row;
}

template <typename F>
void map(float* values, std::int64_t count, const F& f) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = f(values[i]);
}

}  // namespace

void GateFunction::apply(float* values, std::int64_t count) const {
  const float alpha = alpha_;
  const float beta = beta_;
  switch (kind_) {
    case Kind::kAffine:
      return map(values, count, [=](float x) { return alpha * x + beta; });
    case Kind::kElu:
      return map(values, count, [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
    case Kind::kHardSigmoid:
      return map(values, count,
                 [=](float x) { return std::max(0.0F, std::min(1.0F, alpha * x + beta)); });
    case Kind::kLeakyRelu:
      return map(values, count, [=](float x) { return x < 0 ? alpha * x : x; });
    case Kind::kRelu:
      return map(values, count, [](float x) { return std::max(x, 0.0F); });
    case Kind::kScaledTanh:
      map(values, count, [=](float x) { return beta * x; });
      kernel_.functions().tanh(values, values, count);
      return map(values, count, [=](float x) { return alpha * x; });
    case Kind::kSigmoid:
      return kernel_.functions().sigmoid(values, values, count);
    case Kind::kSoftplus:
      return kernel_.functions().softplus(values, values, count);
    case Kind::kSoftsign:
      return map(values, count, [](float x) { return x / (1.0F + std::abs(x)); });
    case Kind::kTanh:
      return kernel_.functions().tanh(values, values, count);
    case Kind::kThresholdedRelu:
      return map(values, count, [=](float x) { return x >= alpha ? x : 0.0F; });
  }
}

std::vector<GateFunction> read_gate_functions(const OpContext& op, std::int64_t directions,
                                              std::initializer_list<std::string_view> defaults) {
  std::vector<std::string> names = list_of<std::string>(op, "activations");
  if (names.empty()) {
    for (std::int64_t i = 0; i < directions; ++i) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  const std::size_t expected = defaults.size() * static_cast<std::size_t>(directions);
  op.require(names.size() == expected,
             to_text("found ", names.size(), " activations, expected ", expected));
  const std::vector<float> alphas = list_of<float>(op, "activation_alpha");
  const std::vector<float> betas = list_of<float>(op, "activation_beta");
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  const auto next = [](const std::optional<float>& fallback, const std::vector<float>& given,
                       std::size_t& at) {
    if (!fallback) return 0.0F;
    return at < given.size() ? given[at++] : *fallback;
  };
  std::vector<GateFunction> functions;
  for (const std::string& name : names) {
    const FunctionRow& row = find_function(op, name);
    const float alpha = next(row.alpha, alphas, next_alpha);
    functions.emplace_back(row.kind, alpha, next(row.beta, betas, next_beta));
  }
  return functions;
}

}  // namespace qtool
