#include "qtool/exec/prepare.h"

#include "base/stop.h"
#include "graph/passes.h"
#include "ops/evaluate.h"

namespace qtool {

Graph prepare(Graph graph, const StopCheck& stop) {
  const auto pass = [&](void (*run)(Graph&)) {
    check_stop(stop);
    run(graph);
    graph.check();
  };
  graph.remove_dead_nodes();
  pass(to_float32);
  pass(fold_constant_nodes);  // upgrades read axes and shapes from constants
  pass(upgrade_opset);
  pass(remove_identities);
  fold_constants(graph, [&](const Graph& whole, NodeId id) {
    check_stop(stop);
    return evaluate_node(whole, id, LoweredParams{});
  });
  graph.check();
  pass(remove_identities);  // folding a Dropout mode or Cast input may create more of them
  pass(fold_batch_norm);
  graph.remove_dead_nodes();
  graph.check();
  return graph;
}

}  // namespace qtool
