#include "graph/passes/fold_budget.h"

#include <unordered_set>

#include "graph/subgraphs.h"

namespace qtool {
namespace {

constexpr std::int64_t kFoldedAtLeast = std::int64_t{128} << 20;
// Weights that are stored in 8 bits take four times the bytes in FP32. Often they are then
// transposed and reshaped, which makes further copies.
constexpr std::int64_t kFoldedPerStoredByte = 16;
constexpr std::int64_t kSmallResult = 1024;

// Adds the bytes of all constants. A constant that several graphs share counts once.
void add_constants(const Graph& graph, std::unordered_set<const Tensor*>& seen,
                   std::int64_t& bytes) {
  for (std::size_t i = 0; i < graph.value_limit(); ++i) {
    const Tensor* constant = graph.value(static_cast<ValueId>(i)).constant.get();
    if (constant != nullptr && seen.insert(constant).second) bytes += constant->bytes();
  }
  for (const NodeId id : graph.nodes()) {
    if (!graph.node(id).has_subgraphs()) continue;
    for (const SubgraphUse& use : subgraphs_of(graph, id)) {
      add_constants(use.subgraph->graph, seen, bytes);
    }
  }
}

}  // namespace

FoldBudget::FoldBudget(const Graph& graph) : left_(kFoldedAtLeast) {
  std::unordered_set<const Tensor*> seen;
  std::int64_t bytes = 0;
  add_constants(graph, seen, bytes);
  left_ += kFoldedPerStoredByte * bytes;
}

bool FoldBudget::take(std::int64_t bytes) {
  if (bytes <= kSmallResult) return true;
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

}  // namespace qtool
