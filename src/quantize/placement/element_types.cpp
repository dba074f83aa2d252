#include "quantize/placement/element_types.h"

#include <algorithm>

#include "graph/onnx/dtype.h"
#include "graph/op_traits.h"
#include "graph/subgraphs.h"

namespace qtool {
namespace {

std::optional<DType> type_of_input(const ElementTypes& types, const Node& node, std::size_t index) {
  return node.has_input(index) ? types[node.inputs[index]] : std::nullopt;
}

// The outputs of the body of a Loop come after its condition.
std::optional<DType> type_in_subgraph(const Node& node, std::size_t index) {
  const SubgraphPtr subgraph = node.get_subgraph(node.is("If") ? "then_branch" : "body");
  const Graph& graph = subgraph->graph;
  const std::size_t at = index + (node.is("Loop") ? 1 : 0);
  return at < graph.outputs().size() ? graph.value(graph.outputs()[at]).dtype : std::nullopt;
}

std::optional<DType> type_of_output(const ElementTypes& types, const Node& node,
                                    std::size_t index) {
  if (!node.domain.empty()) return std::nullopt;
  switch (traits_of(node).type) {
    case TypeRule::kInput0:
      return type_of_input(types, node, 0);
    case TypeRule::kInput1:
      return type_of_input(types, node, 1);
    case TypeRule::kInput2:
      return type_of_input(types, node, 2);
    case TypeRule::kInt32:
      return DType::kInt32;
    case TypeRule::kInt64:
      return DType::kInt64;
    case TypeRule::kBool:
      return DType::kBool;
    case TypeRule::kIndicesBehind:
      return index > 0 ? DType::kInt64 : type_of_input(types, node, 0);
    case TypeRule::kMaskSecond:
      return index == 1 ? DType::kBool : type_of_input(types, node, 0);
    case TypeRule::kAttributeTo:
      return dtype_of_onnx(node.get_int("to", 0));
    case TypeRule::kAttributeDtype:
      return node.has("dtype") ? dtype_of_onnx(node.get_int("dtype", 0))
                               : type_of_input(types, node, 0);
    case TypeRule::kAttributeValue: {
      const auto fill = node.get_tensor("value");
      return fill != nullptr ? fill->dtype() : DType::kFloat32;
    }
    case TypeRule::kZeroPoint:
      return node.has_input(2) ? type_of_input(types, node, 2) : DType::kUInt8;
    case TypeRule::kSubgraph:
      return type_in_subgraph(node, index);
    case TypeRule::kUInt8AndScale:
      return index == 1 ? DType::kFloat32 : DType::kUInt8;
  }
  return std::nullopt;
}

}  // namespace

ElementTypes element_types(const Graph& graph) {
  ElementTypes types(graph.value_limit());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    types[id] = value.constant != nullptr ? value.constant->dtype() : value.dtype;
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.has_output(i)) continue;
      std::optional<DType>& type = types[node.outputs[i]];
      if (!type) type = type_of_output(types, node, i);
    }
  }
  return types;
}

bool computes_reals(const Node& node, const ElementTypes& types) {
  return std::ranges::any_of(node.outputs, [&](ValueId output) {
    if (output == kNoValue) return false;
    const std::optional<DType>& type = types[output];
    return !type || *type == DType::kFloat32 || *type == DType::kFloat16 ||
           *type == DType::kBFloat16 || *type == DType::kFloat64;
  });
}

}  // namespace qtool
