#include "qtool/exec/prepare.h"

#include <string>

#include "base/stop.h"
#include "base/text.h"
#include "graph/passes.h"
#include "ops/evaluate.h"
#include "qtool/base/error.h"

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

const Value& image_input(const Graph& graph) {
  const std::vector<ValueId>& inputs = graph.inputs();
  if (inputs.size() == 1) return graph.value(inputs.front());
  std::string names;
  for (const ValueId id : inputs) {
    names += concat(names.empty() ? "'" : ", '", graph.value(id).name, "'");
  }
  throw Error(ErrorCode::kUnsupported, concat("the model has ", inputs.size(), " inputs (", names,
                                              "), images can feed a model with one"));
}

}  // namespace qtool
