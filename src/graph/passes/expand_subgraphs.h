#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graph/passes/fold_budget.h"
#include "graph/subgraphs.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// The maximum number of iterations of a Loop or Scan.
inline constexpr std::int64_t kMaxTrips = 1'000'000;

/// The budget that is left for expanding subgraphs, counted in nodes, for all graphs of a model
/// together. Without a budget, bodies inside bodies would double the work with every level.
struct ExpandBudget {
  std::int64_t copies;                  ///< nodes that loops may expand to; at 0 they stay loops
  std::shared_ptr<FoldBudget> folding;  ///< bytes that folded constants may take
  std::int64_t work = 1 << 18;          ///< nodes of bodies that may be visited

  /// Subtracts `nodes` + 1 from `work`. Throws Error(kUnsupported) when `work` is used up.
  void spend(std::int64_t nodes);
};

/// The functions that the calling pass provides for expanding subgraphs, and the budget.
struct ExpandTools {
  /// Returns the facts about a value that the pass knows.
  std::function<KnownValue(ValueId)> known;
  /// Folds everything in a body that depends on constants only. Keeps its inputs and outputs.
  std::function<Graph(Graph)> fold;
  ExpandBudget& budget;
};

/// Replaces an If with a known condition by the nodes of one branch, and a Loop or Scan with a
/// known number of iterations by one copy of its body per iteration. A Scan of known length that
/// cannot be expanded becomes a Loop. Returns the new nodes, unsorted. Returns std::nullopt if the
/// condition or the number of iterations depends on the data, if shapes are unknown, or if the
/// budget is used up. The replaced node is disconnected. Throws Error(kInvalidModel) when the
/// subgraph does not fit the node.
std::optional<std::vector<NodeId>> expand_node(Graph& graph, NodeId id, const ExpandTools& tools);

/// Expands every node that can be expanded, and calls `tools.fold` for the bodies of the others.
/// Returns whether a node was expanded.
bool expand_subgraphs(Graph& graph, const ExpandTools& tools);

/// The parts of a Loop node. Its inputs are trip count, condition and states; the inputs of its
/// body are iteration number, condition and states. In both, captured values follow.
struct LoopParts {
  SubgraphUse body;
  std::size_t states = 0;
  std::size_t scans = 0;  ///< outputs that stack one slice per iteration
};

/// Throws Error(kInvalidModel) when body and node do not fit.
LoopParts parts_of_loop(const Graph& graph, NodeId id);

/// Whether the body of a loop never ends the loop: the condition that it returns is the constant
/// true, or the condition that it received.
bool always_continues(const Graph& body);

/// The value of a constant trip count (int64) or condition (bool); std::nullopt if it is not
/// constant. Throws Error(kInvalidModel) if the constant is not one element of that type.
template <typename T>
std::optional<T> steering_value(const KnownValue& known, std::string_view what);

}  // namespace qtool
