#include "quantize/placement/operands.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "base/text.h"
#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/quantize/quantize.h"

namespace qtool {
namespace {

constexpr std::int64_t kMinOpset = 13;  // the first with a per-channel DequantizeLinear

}  // namespace

void require_float_graph(const Graph& graph) {
  const auto opset = graph.info.opsets.find("");
  if (opset == graph.info.opsets.end() || opset->second < kMinOpset) {
    throw Error(ErrorCode::kUnsupported,
                to_text("quantizing needs a graph of opset ", kMinOpset, " or later, found ",
                        opset == graph.info.opsets.end() ? 0 : opset->second));
  }
  if (const std::optional<NodeId> id = quantized_node(graph)) {
    throw Error(ErrorCode::kUnsupported,
                to_text(graph.describe(*id), ": the model is quantized already"));
  }
}

// Reads all values without an early exit, so that the compiler vectorizes the loop.
bool all_finite(std::span<const float> values) noexcept {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t broken = 0;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    broken |= (bits & kExponent) == kExponent ? 1U : 0U;
  }
  return broken == 0;
}

bool multiplies(const Node& node) {
  return !node.domain.empty() || is_product(traits_of(node).kind);
}

std::vector<std::string> non_finite_weights(const Graph& graph) {
  std::vector<std::string> names;
  IdMap<ValueId, char> seen(graph.value_limit(), 0);
  for (const NodeId id : graph.nodes()) {
    if (!multiplies(graph.node(id))) continue;
    for (const ValueId input : graph.node(id).inputs) {
      if (!graph.is_constant(input) || seen[input]++ != 0) continue;
      const Value& value = graph.value(input);
      if (value.constant->dtype() != DType::kFloat32) continue;
      if (!all_finite(value.constant->values<float>())) names.push_back(value.name);
    }
  }
  return names;
}

std::vector<std::size_t> activation_inputs(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<std::size_t> inputs{0};
  if (traits_of(node).kind == OpKind::kCombining) {
    inputs.resize(node.inputs.size());
    std::iota(inputs.begin(), inputs.end(), std::size_t{0});
  } else if (node.is("MatMul") && !graph.is_constant(node.inputs[1])) {
    inputs.push_back(1);
  }
  return inputs;
}

bool is_listed(const Target& target, const Node& node) {
  return node.domain.empty() && target.runs(node.op_type);
}

IdMap<ValueId, char> values_from_constants(const Graph& graph) {
  IdMap<ValueId, char> fixed(graph.value_limit(), 0);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool from_constants =
        !node.inputs.empty() && std::ranges::all_of(node.inputs, [&](ValueId input) {
          return input == kNoValue || graph.is_constant(input) || fixed[input] != 0;
        });
    for (const ValueId output : node.outputs) {
      if (from_constants && output != kNoValue) fixed[output] = 1;
    }
  }
  return fixed;
}

}  // namespace qtool
