#include "qtool/graph/broken_weights.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "graph/op_traits.h"
#include "graph/subgraphs.h"

namespace qtool {
namespace {

enum class Infinity : std::uint8_t { kMeaningful, kBroken };

Infinity infinity_in(const Node& node) {
  const OpKind kind = traits_of(node).kind;
  const bool computes = is_product(kind) || kind == OpKind::kAveraging ||
                        node.is("QuantizeLinear") || node.is("DequantizeLinear");
  return computes ? Infinity::kBroken : Infinity::kMeaningful;
}

template <typename T>
std::int64_t count_broken_of(std::span<const T> values, Infinity infinity) {
  return std::ranges::count_if(values, [&](T value) {
    return infinity == Infinity::kBroken ? !std::isfinite(value) : std::isnan(value);
  });
}

std::int64_t count_broken(const Tensor& tensor, Infinity infinity) {
  if (tensor.dtype() == DType::kFloat32) return count_broken_of(tensor.values<float>(), infinity);
  if (tensor.dtype() == DType::kFloat64) return count_broken_of(tensor.values<double>(), infinity);
  return 0;
}

}  // namespace

BrokenWeights find_broken_weights(const Graph& graph) {
  BrokenWeights found;
  std::unordered_map<const Tensor*, Infinity> seen;
  for_each_node(graph, [&](const Graph& around, NodeId id) {
    const Infinity infinity = infinity_in(around.node(id));
    for (const ValueId input : around.node(id).inputs) {
      if (!around.is_constant(input)) continue;
      const Value& value = around.value(input);
      const auto [known, is_new] = seen.try_emplace(value.constant.get(), infinity);
      if (!is_new && known->second >= infinity) continue;
      // A tensor that was looked at for NaN only is looked at again for infinity.
      const std::int64_t before = is_new ? 0 : count_broken(*value.constant, known->second);
      known->second = infinity;
      const std::int64_t broken = count_broken(*value.constant, infinity);
      if (broken == 0 || before > 0) continue;
      if (found.tensors++ > 0) continue;
      found.first = value.name;
      found.broken = broken;
      found.numbers = value.constant->elements();
    }
  });
  return found;
}

}  // namespace qtool
