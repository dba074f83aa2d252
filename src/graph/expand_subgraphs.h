#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graph/fold_budget.h"
#include "graph/subgraphs.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// How many times a loop may run.
inline constexpr std::int64_t kMaxTrips = 1'000'000;

/// What expanding may still cost, counted in nodes, for all graphs of a model together. Bodies in
/// bodies would otherwise double the work with every level.
struct ExpandBudget {
  std::int64_t copies;  ///< nodes that loops may become; without more they stay loops
  std::shared_ptr<FoldBudget> folding;  ///< what constants may take
  std::int64_t work = 1 << 18;          ///< nodes of bodies that may be looked at

  /// Throws Error(kUnsupported) when the work has become too much.
  void spend(std::int64_t nodes);
};

/// What a pass knows of the graph, and does with bodies.
struct ExpandTools {
  std::function<KnownValue(ValueId)> known;
  /// Computes what the constants of a body decide. Its inputs and outputs stay.
  std::function<Graph(Graph)> fold;
  ExpandBudget& budget;
};

/// Puts the nodes of its subgraph in the place of an If whose condition is known, or of a Loop or
/// Scan for which it is known how often it runs, once for every time. Returns the new nodes,
/// unsorted, or nothing where the data decides, the shapes are unknown, or the budget is used up: a
/// Scan of known length is a Loop then. The node itself loses its outputs. Throws
/// Error(kInvalidModel) when the subgraph does not fit the node.
std::optional<std::vector<NodeId>> expand_node(Graph& graph, NodeId id, const ExpandTools& tools);

/// Expands what can be, and calls `tools.fold` for the bodies that are left. Returns whether there
/// are new nodes.
bool expand_subgraphs(Graph& graph, const ExpandTools& tools);

/// The parts of a Loop node: trip count, condition, states; body: iteration, condition, states.
struct LoopParts {
  SubgraphUse body;
  std::size_t states = 0;
  std::size_t scans = 0;  ///< outputs that gather one slice of each iteration
};

/// Throws Error(kInvalidModel) when body and node do not fit.
LoopParts parts_of_loop(const Graph& graph, NodeId id);

/// Whether the body of a loop never ends it: its condition is true, or the one that it was given.
bool always_continues(const Graph& body);

/// A constant that steers: a trip count or a condition. Throws Error(kInvalidModel) when it is not
/// one element of that type.
template <typename T>
std::optional<T> steering_value(const KnownValue& known, std::string_view what);

}  // namespace qtool
