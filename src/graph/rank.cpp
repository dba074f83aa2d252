#include "graph/rank.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace qtool {
namespace {

using Rank = std::optional<std::int64_t>;

// Sorted. The rank of the output is that of the first input.
constexpr auto kKeepRank = std::to_array<std::string_view>({
    "Abs",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "CumSum",
    "DepthToSpace",
    "DequantizeLinear",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MaxPool",
    "Neg",
    "PRelu",
    "Pad",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "Resize",
    "Selu",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Tanh",
    "Transpose",
});

// Sorted. The rank of the output is the larger one of those of two inputs.
constexpr auto kBroadcast = std::to_array<std::string_view>({"Add", "Div", "Mul", "Pow", "Sub"});

class RankFinder {
 public:
  explicit RankFinder(const Graph& graph) : graph_(graph) {}

  Rank find(ValueId id, int depth = 0) {
    constexpr int kMostDepth = 500;  // bounds the stack; declarations usually end it sooner
    if (id == kNoValue || depth > kMostDepth) return std::nullopt;
    const Value& value = graph_.value(id);
    if (value.shape) return static_cast<std::int64_t>(value.shape->size());
    if (value.producer == kNoNode) return std::nullopt;
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    const Rank rank = of_node(graph_.node(value.producer), depth + 1);
    known_[id] = rank;
    return rank;
  }

 private:
  Rank of_node(const Node& node, int depth) {
    const auto is_in = [&](const auto& list) {
      return std::binary_search(list.begin(), list.end(), std::string_view(node.op_type));
    };
    if (!node.domain.empty() || !node.has_input(0)) return std::nullopt;
    if (is_in(kKeepRank)) return find(node.inputs[0], depth);
    if (node.op_type == "Gemm" || node.op_type == "Flatten") return 2;
    if (node.op_type == "Shape") return 1;
    if (!node.has_input(1)) return std::nullopt;
    if (node.op_type == "Conv" || node.op_type == "ConvTranspose") {
      return find(node.inputs[1], depth);  // the weight has as many axes as the data
    }
    if (node.op_type == "Reshape") {
      const Tensor* shape = graph_.value(node.inputs[1]).constant.get();
      return shape != nullptr ? Rank(shape->elements()) : std::nullopt;
    }
    if (!is_in(kBroadcast)) return std::nullopt;
    const Rank a = find(node.inputs[0], depth);
    const Rank b = find(node.inputs[1], depth);
    return a && b ? Rank(std::max(*a, *b)) : std::nullopt;
  }

  const Graph& graph_;
  std::map<ValueId, Rank> known_;
};

}  // namespace

std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id) {
  return RankFinder(graph).find(id);
}

}  // namespace qtool
