// Element-wise functions that exporters write as several nodes, such as GELU, SiLU and Mish, become
// one operator that reads and writes memory once.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "graph/constant_float.h"
#include "graph/edit.h"
#include "graph/id_map.h"
#include "lower/passes.h"

namespace qtool {
namespace {

struct ChainRow {
  std::string_view op_type;
  ChainFunction function;
  std::size_t operands;
};

constexpr auto kChainRows = std::to_array<ChainRow>({{"Add", ChainFunction::kAdd, 2},
                                                     {"Div", ChainFunction::kDiv, 2},
                                                     {"Erf", ChainFunction::kErf, 1},
                                                     {"Exp", ChainFunction::kExp, 1},
                                                     {"Mul", ChainFunction::kMul, 2},
                                                     {"Sigmoid", ChainFunction::kSigmoid, 1},
                                                     {"Softplus", ChainFunction::kSoftplus, 1},
                                                     {"Sub", ChainFunction::kSub, 2},
                                                     {"Tanh", ChainFunction::kTanh, 1}});

class ChainFusion {
 public:
  explicit ChainFusion(ShapedGraph& shaped)
      : shaped_(shaped), graph_(shaped.graph), position_(shaped.positions()) {}

  void run() {
    const std::vector<NodeId> order = graph_.nodes();
    for (std::size_t i = order.size(); i-- > 0;) {
      if (is_gone(graph_, order[i]) || row_of(order[i]) == nullptr) continue;
      const std::vector<NodeId> nodes = chain_before(order[i]);
      if (nodes.size() > 1) fuse(nodes);
    }
  }

 private:
  // Whether `id` is a computed float32 tensor of this shape. A value that lowering added may have
  // no type and shape yet.
  [[nodiscard]] bool is_tensor_of(ValueId id, const Shape& shape) const {
    if (id == kNoValue || graph_.is_constant(id)) return false;
    const std::optional<ValueInfo>& info = shaped_.infos[id];
    return info && info->dtype == DType::kFloat32 && info->shape == shape;
  }

  // The row of a node that may be part of a chain, otherwise null. Each operand must be a single
  // number or a computed tensor of the shape of the result, and at least one must be a tensor.
  [[nodiscard]] const ChainRow* row_of(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto row =
        std::ranges::find_if(kChainRows, [&](const ChainRow& r) { return node.is(r.op_type); });
    if (row == kChainRows.end() || node.inputs.size() != row->operands || !node.has_output(0)) {
      return nullptr;
    }
    const auto& info = shaped_.infos[node.outputs[0]];
    if (!info) return nullptr;
    const Shape& shape = info->shape;
    bool has_tensor = false;
    for (const ValueId input : node.inputs) {
      const bool tensor = is_tensor_of(input, shape);
      if (!tensor && (row->operands == 1 || !constant_float(graph_, input))) return nullptr;
      has_tensor = has_tensor || tensor;
    }
    return has_tensor ? &*row : nullptr;
  }

  // `last` and the nodes before it whose results only these nodes read, in the order of execution.
  [[nodiscard]] std::vector<NodeId> chain_before(NodeId last) const {
    std::vector<NodeId> nodes{last};
    const Shape& shape = shaped_.info(graph_.node(last).outputs[0]).shape;
    const auto contains = [&](NodeId id) { return std::ranges::find(nodes, id) != nodes.end(); };
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMaxChainSteps; ++i) {
        for (const ValueId input : graph_.node(nodes[i]).inputs) {
          const NodeId producer = input == kNoValue ? kNoNode : graph_.value(input).producer;
          if (producer == kNoNode || contains(producer) || row_of(producer) == nullptr) continue;
          const bool ours = std::ranges::all_of(graph_.consumers(input), contains);
          if (!ours || graph_.is_output(input) || !is_tensor_of(input, shape)) continue;
          nodes.push_back(producer);
          grows = true;
          if (nodes.size() == kMaxChainSteps) break;
        }
      }
    }
    std::ranges::sort(nodes, {}, [&](NodeId id) { return position_[id]; });
    return nodes;
  }

  void fuse(const std::vector<NodeId>& nodes) {
    ChainParams params;
    std::vector<ValueId> inputs;
    std::vector<ValueId> results;
    const auto operand = [&](ValueId id) -> ChainOperand {
      if (const auto value = constant_float(graph_, id))
        return {ChainOperand::Source::kNumber, 0, *value};
      const auto step = std::ranges::find(results, id);
      if (step != results.end()) {
        return {ChainOperand::Source::kStep, static_cast<std::size_t>(step - results.begin()), 0};
      }
      const auto known = std::ranges::find(inputs, id);
      const auto index = static_cast<std::size_t>(known - inputs.begin());
      if (known == inputs.end()) inputs.push_back(id);
      return {ChainOperand::Source::kInput, index, 0};
    };
    for (const NodeId id : nodes) {
      const ChainRow& row = *row_of(id);
      const Node& node = graph_.node(id);
      const ChainOperand a = operand(node.inputs[0]);
      const ChainOperand b = row.operands == 2 ? operand(node.inputs[1]) : ChainOperand{};
      params.steps.push_back({row.function, a, b});
      results.push_back(node.outputs[0]);
    }
    const NodeId last = nodes.back();
    for (std::size_t i = 0; i < inputs.size(); ++i) graph_.set_input(last, i, inputs[i]);
    graph_.truncate_inputs(last, inputs.size());
    shaped_.lower_node(last, "ElementwiseChain", std::move(params));
    for (const NodeId id : nodes) {
      if (id != last) disconnect(graph_, id);
    }
  }

  ShapedGraph& shaped_;
  Graph& graph_;
  IdMap<NodeId, std::size_t> position_;  // ShapedGraph::positions()
};

}  // namespace

void fuse_chains(ShapedGraph& shaped) { ChainFusion(shaped).run(); }

}  // namespace qtool
