#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "graph/id_map.h"
#include "graph/passes/expand_subgraphs.h"
#include "graph/passes/passes.h"
#include "lower/shaped_subgraphs.h"
#include "lower/specialize.h"
#include "ops/evaluate.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"

namespace qtool {

namespace {

// The number of nodes that unrolling loops may add to a model. A longer loop stays a loop, and its
// body stays in FP32.
constexpr std::int64_t kMaxLoopNodes = 1 << 12;

// To learn shapes, a copy of the graph is expanded and then thrown away. Its loops have a budget of
// their own, for all graphs of a model and all such copies together. One copy takes no more of it
// than a plan may, because the values of a loop may grow with each iteration.
constexpr std::int64_t kMaxShapedLoopNodes = 1 << 16;
constexpr std::int64_t kMaxShapedAtOnce = 1 << 14;
constexpr std::int64_t kMaxShapedBodyNodes = 1 << 18;
constexpr std::int64_t kShapedTimes = 16;  // additional visits of each of the model's own nodes

struct Budgets {
  ExpandBudget expand;
  ExpandBudget shaping;
};

bool has_subgraphs(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [&](NodeId id) { return graph.node(id).has_subgraphs(); });
}

// The graph with the known types, shapes and constants of its values. Nothing when an input has no
// fixed type and shape, the budget is used up, or specializing fails.
std::optional<ShapedGraph> shape_fixed(const Graph& graph, ExpandBudget& budget) {
  if (budget.work < 0) return std::nullopt;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    const bool fixed =
        value.dtype && value.shape &&
        std::ranges::all_of(*value.shape, [](const Dim& dim) { return dim.size.has_value(); });
    if (!fixed) return std::nullopt;
  }
  std::optional<ShapedGraph> shaped;
  ExpandBudget once = budget;
  once.copies = std::min(budget.copies, kMaxShapedAtOnce);
  const std::int64_t copies = once.copies;
  try {
    shaped = specialize(graph, once);
  } catch (const Error& error) {  // running the graph reports the reason
    if (error.code() == ErrorCode::kCancelled) throw;
  }
  budget.copies -= copies - once.copies;
  budget.work = once.work;
  return shaped;
}

Graph prepare(Graph graph, Budgets& budgets);

// Expands the control flow whose course is known, and prepares the bodies of the rest. Returns
// whether there are new nodes.
bool expand(Graph& graph, Budgets& budgets) {
  if (!has_subgraphs(graph)) return false;
  const std::optional<ShapedGraph> shaped = shape_fixed(graph, budgets.shaping);
  // The shaped graph was expanded separately, so a value that expanding adds has another id there.
  const std::size_t shared = graph.value_limit();
  const auto known = [&](ValueId id) {
    const bool is_shared = id != kNoValue && index_of(id) < shared;
    return shaped && is_shared ? known_of(*shaped, id) : known_of(graph, id);
  };
  const auto fold = [&](Graph body) {
    budgets.expand.spend(static_cast<std::int64_t>(body.nodes().size()));
    return prepare(std::move(body), budgets);
  };
  const ExpandTools tools{known, fold, budgets.expand};
  return expand_subgraphs(graph, tools);
}

Graph prepare(Graph graph, Budgets& budgets) {
  const auto pass = [&](void (*run)(Graph&)) {
    check_stop_inside();
    run(graph);
    graph.check();
  };
  graph.remove_dead_nodes();
  pass(to_float32);
  pass(fold_constant_nodes);  // upgrades read axes and shapes from constants
  pass(take_in_constants);    // constants of subgraphs too
  pass(upgrade_opset);
  pass(remove_identities);
  const auto fold = [&] {
    fold_constants(graph, [&](const Graph& whole, NodeId id) {
      check_stop_inside();
      return evaluate_node(whole, id, LoweredParams{}, budgets.expand.folding.get());
    });
    graph.check();
  };
  fold();
  while (expand(graph, budgets)) {
    pass(remove_identities);
    fold();
  }
  pass(remove_identities);  // folding a Dropout mode or Cast input may create more
  pass(fold_batch_norm);
  graph.remove_dead_nodes();
  graph.check();
  return graph;
}

}  // namespace

Graph prepare(Graph graph, const StopCheck& stop) {
  const StopScope scope(stop);
  const auto folding = std::make_shared<FoldBudget>(graph);
  const auto nodes = static_cast<std::int64_t>(graph.nodes().size());
  Budgets budgets{{kMaxLoopNodes, folding},
                  {kMaxShapedLoopNodes, folding, kMaxShapedBodyNodes + kShapedTimes * nodes}};
  return prepare(std::move(graph), budgets);
}

const Value& image_input(const Graph& graph) {
  const std::vector<ValueId>& inputs = graph.inputs();
  if (inputs.size() == 1) return graph.value(inputs.front());
  std::string names;
  for (const ValueId id : inputs) {
    names += to_text(names.empty() ? "'" : ", '", graph.value(id).name, "'");
  }
  throw Error(ErrorCode::kUnsupported, to_text("the model has ", inputs.size(), " inputs (", names,
                                               "), images can feed a model with one"));
}

}  // namespace qtool
