#include "graph/rank.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "graph/op_traits.h"

namespace qtool {
namespace {

using Rank = std::optional<std::int64_t>;

class RankFinder {
 public:
  explicit RankFinder(const Graph& graph) : graph_(graph) {}

  Rank find(ValueId id, int depth = 0) {
    constexpr int kMaxDepth = 500;  // limits the recursion; a declaration usually ends it earlier
    if (id == kNoValue || depth > kMaxDepth) return std::nullopt;
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
    const auto of_input = [&](std::size_t i) {
      return node.has_input(i) ? find(node.inputs[i], depth) : std::nullopt;
    };
    switch (traits_of(node).rank) {
      case RankRule::kUnknown:
        return std::nullopt;
      case RankRule::kInput0:
        return of_input(0);
      case RankRule::kInput1:
        return of_input(1);
      case RankRule::kBroadcast: {
        const Rank a = of_input(0);
        const Rank b = of_input(1);
        return a && b ? Rank(std::max(*a, *b)) : std::nullopt;
      }
      case RankRule::kOne:
        return 1;
      case RankRule::kTwo:
        return 2;
      case RankRule::kElementsOfInput1: {
        if (!node.has_input(1)) return std::nullopt;
        const Tensor* shape = graph_.value(node.inputs[1]).constant.get();
        // Shape inference refuses a constant with more elements later. Here its rank counts as
        // unknown, so that no shape of that size is allocated.
        if (shape == nullptr || shape->elements() > kMaxRank) return std::nullopt;
        return shape->elements();
      }
    }
    return std::nullopt;
  }

  const Graph& graph_;
  std::map<ValueId, Rank> known_;
};

}  // namespace

std::string too_many_axes(std::int64_t axes) {
  return to_text("has ", axes, " axes, expected at most ", kMaxRank);
}

std::optional<std::int64_t> rank_of(const Graph& graph, ValueId id) {
  return RankFinder(graph).find(id);
}

bool averages_pixels(std::vector<std::int64_t> axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  if (rank < 3 || std::ssize(axes) != rank - 2) return false;
  for (std::int64_t i = 2; i < rank; ++i) {
    if (axes[static_cast<std::size_t>(i - 2)] != i) return false;
  }
  return true;
}

}  // namespace qtool
