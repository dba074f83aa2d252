#include "lower/chains.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "graph/clamp.h"
#include "graph/constant_float.h"

namespace qtool {

/// An element-wise operator: the inputs that a chain reads, and the number of its steps.
struct ChainFinder::Row {
  std::string_view op_type;
  ChainFunction function;
  std::size_t operands;
  std::size_t steps = 1;

  [[nodiscard]] bool is_clamp() const { return function == ChainFunction::kMax; }
};

// Whether `id` is a computed float32 tensor of this shape. A value that lowering added may have
// no type and shape yet.
bool ChainFinder::is_tensor_of(ValueId id, const Shape& shape) const {
  if (id == kNoValue || graph_.is_constant(id)) return false;
  const std::optional<ValueInfo>& info = shaped_.infos[id];
  return info && info->dtype == DType::kFloat32 && info->shape == shape;
}

// The row of a node that may be part of a chain, otherwise null. Each operand must be a single
// number or a computed tensor of the shape of the result, and at least one must be a tensor.
const ChainFinder::Row* ChainFinder::row_of(NodeId id) const {
  static constexpr auto kRows = std::to_array<Row>({{"Add", ChainFunction::kAdd, 2},
                                                    {"Clip", ChainFunction::kMax, 1, 2},
                                                    {"Div", ChainFunction::kDiv, 2},
                                                    {"Erf", ChainFunction::kErf, 1},
                                                    {"Exp", ChainFunction::kExp, 1},
                                                    {"HardSwish", ChainFunction::kHardSwish, 1},
                                                    {"LeakyRelu", ChainFunction::kLeakyRelu, 1},
                                                    {"Mul", ChainFunction::kMul, 2},
                                                    {"Relu", ChainFunction::kMax, 1},
                                                    {"Sigmoid", ChainFunction::kSigmoid, 1},
                                                    {"Softplus", ChainFunction::kSoftplus, 1},
                                                    {"Sub", ChainFunction::kSub, 2},
                                                    {"Tanh", ChainFunction::kTanh, 1}});
  const Node& node = graph_.node(id);
  const auto* row = std::ranges::find_if(kRows, [&](const Row& r) { return node.is(r.op_type); });
  if (row == kRows.end() || !node.has_output(0)) return nullptr;
  if (row->is_clamp() ? !applied_clamp_of(graph_, node) : node.inputs.size() != row->operands) {
    return nullptr;
  }
  const auto& info = shaped_.infos[node.outputs[0]];
  if (!info) return nullptr;
  bool has_tensor = false;
  for (std::size_t i = 0; i < row->operands; ++i) {
    const bool tensor = is_tensor_of(node.inputs[i], info->shape);
    if (!tensor && (row->operands == 1 || !constant_float(graph_, node.inputs[i]))) return nullptr;
    has_tensor = has_tensor || tensor;
  }
  return has_tensor ? row : nullptr;
}

// `last` and the nodes before it whose results only these nodes read, in the order of execution.
std::vector<NodeId> ChainFinder::nodes_before(NodeId last) const {
  std::vector<NodeId> nodes{last};
  std::size_t steps = row_of(last)->steps;
  const Shape& shape = shaped_.info(graph_.node(last).outputs[0]).shape;
  const auto contains = [&](NodeId id) { return std::ranges::find(nodes, id) != nodes.end(); };
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId input : graph_.node(nodes[i]).inputs) {
        const NodeId producer = input == kNoValue ? kNoNode : graph_.value(input).producer;
        if (producer == kNoNode || contains(producer)) continue;
        const Row* row = row_of(producer);
        if (row == nullptr || steps + row->steps > kMaxChainSteps) continue;
        const bool ours = std::ranges::all_of(graph_.consumers(input), contains);
        if (!ours || graph_.is_output(input) || !is_tensor_of(input, shape)) continue;
        nodes.push_back(producer);
        steps += row->steps;
        grows = true;
      }
    }
  }
  std::ranges::sort(nodes, {}, [&](NodeId id) { return position_[id]; });
  return nodes;
}

// Whether the last step is the Sigmoid of `x`, and no other node than one that multiplies both
// reads it.
bool ChainFinder::ends_with_sigmoid_of(const ChainOperand& x, const ChainOperand& sigmoid,
                                       ValueId id, const ChainParams& params) const {
  if (sigmoid.source != ChainOperand::Source::kStep || sigmoid.index + 1 != params.steps.size()) {
    return false;
  }
  const ChainStep& step = params.steps.back();
  return step.function == ChainFunction::kSigmoid && step.a == x &&
         graph_.consumers(id).size() == 1;
}

void ChainFinder::add_steps(const Node& node, const Row& row, const ChainOperand& a,
                            const ChainOperand& b, ChainParams& params) const {
  const auto number = [](float value) {
    return ChainOperand{ChainOperand::Source::kNumber, 0, value};
  };
  const bool multiplies = row.function == ChainFunction::kMul;
  if (row.function == ChainFunction::kLeakyRelu) {
    params.steps.push_back({row.function, a, number(node.get_float("alpha", 0.01F))});
  } else if (row.is_clamp()) {
    const Range bounds = *applied_clamp_of(graph_, node);
    params.steps.push_back({ChainFunction::kMax, a, number(bounds.min)});
    if (row.steps == 1) return;
    const ChainOperand raised{ChainOperand::Source::kStep, params.steps.size() - 1, 0};
    params.steps.push_back({ChainFunction::kMin, raised, number(bounds.max)});
  } else if (multiplies && ends_with_sigmoid_of(a, b, node.inputs[1], params)) {
    params.steps.back() = {ChainFunction::kSilu, a, {}};
  } else if (multiplies && ends_with_sigmoid_of(b, a, node.inputs[0], params)) {
    params.steps.back() = {ChainFunction::kSilu, b, {}};
  } else {
    params.steps.push_back({row.function, a, b});
  }
}

std::optional<FoundChain> ChainFinder::chain_before(NodeId last) const {
  if (row_of(last) == nullptr) return std::nullopt;
  FoundChain chain;
  chain.nodes = nodes_before(last);
  std::vector<std::pair<ValueId, std::size_t>> results;  // of each node, and its last step
  const auto operand = [&](ValueId id) -> ChainOperand {
    if (const auto value = constant_float(graph_, id)) {
      return {ChainOperand::Source::kNumber, 0, *value};
    }
    const auto step = std::ranges::find(results, id, &std::pair<ValueId, std::size_t>::first);
    if (step != results.end()) return {ChainOperand::Source::kStep, step->second, 0};
    const auto known = std::ranges::find(chain.inputs, id);
    const auto index = static_cast<std::size_t>(known - chain.inputs.begin());
    if (known == chain.inputs.end()) chain.inputs.push_back(id);
    return {ChainOperand::Source::kInput, index, 0};
  };
  for (const NodeId id : chain.nodes) {
    const Row& row = *row_of(id);
    const Node& node = graph_.node(id);
    const ChainOperand a = operand(node.inputs[0]);
    const ChainOperand b = row.operands == 2 ? operand(node.inputs[1]) : ChainOperand{};
    add_steps(node, row, a, b, chain.params);
    results.emplace_back(node.outputs[0], chain.params.steps.size() - 1);
  }
  return chain;
}

}  // namespace qtool
