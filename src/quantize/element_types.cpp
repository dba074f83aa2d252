#include "quantize/element_types.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "qtool/graph/onnx.h"
namespace qtool {
namespace {

using Types = std::vector<std::optional<DType>>;

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kIndexOps = {"ArgMax", "ArgMin", "NonZero", "Shape",
                                                       "Size"};
constexpr std::array<std::string_view, 10> kConditionOps = {
    "And",         "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less",
    "LessOrEqual", "Not",   "Xor"};

std::optional<DType> type_of_input(const Types& types, const Node& node, std::size_t index) {
  return node.has_input(index) ? types[static_cast<std::size_t>(node.inputs[index])] : std::nullopt;
}

std::optional<DType> type_of_output(const Types& types, const Node& node, std::size_t index) {
  const std::string_view op = node.op_type;
  if (!node.domain.empty()) return std::nullopt;
  if (contains(kIndexOps, op)) return DType::kInt64;
  if (contains(kConditionOps, op)) return DType::kBool;
  if (index == 1 && (op == "TopK" || op == "MaxPool")) return DType::kInt64;
  if (index == 1 && op == "Dropout") return DType::kBool;
  if (op == "Cast") return dtype_of_onnx(node.get_int("to", 0));
  if (op == "Where") return type_of_input(types, node, 1);
  if (op == "OneHot") return type_of_input(types, node, 2);
  if (op == "ConstantOfShape") {
    const auto fill = node.get_tensor("value");
    return fill != nullptr ? fill->dtype() : DType::kFloat32;
  }
  if (op == "QuantizeLinear") {
    return node.has_input(2) ? type_of_input(types, node, 2) : DType::kUInt8;
  }
  if (op == "DequantizeLinear") return type_of_input(types, node, 1);
  if (op == "DynamicQuantizeLinear") return index == 1 ? DType::kFloat32 : DType::kUInt8;
  if (op == "QLinearConv" || op == "QLinearMatMul") return type_of_input(types, node, 7);
  if (op == "ConvInteger" || op == "MatMulInteger") return DType::kInt32;
  return type_of_input(types, node, 0);
}

}  // namespace

std::vector<std::optional<DType>> element_types(const Graph& graph) {
  Types types(graph.value_limit());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Value& value = graph.value(static_cast<ValueId>(i));
    types[i] = value.constant != nullptr ? value.constant->dtype() : value.dtype;
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.has_output(i)) continue;
      std::optional<DType>& type = types[static_cast<std::size_t>(node.outputs[i])];
      if (!type) type = type_of_output(types, node, i);
    }
  }
  return types;
}

}  // namespace qtool
