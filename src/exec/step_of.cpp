#include "exec/step_of.h"

#include <string>

#include "graph/node_name.h"

namespace qtool {

StepsOfNodes::StepsOfNodes(const std::vector<StepInfo>& steps, const Graph& graph)
    : steps_(steps), graph_(graph) {
  for (std::size_t i = 0; i < steps.size(); ++i) {  // when several match, the first one counts
    by_node_.try_emplace(steps[i].node, i);
    by_output_.try_emplace(steps[i].output, i);
  }
}

std::optional<std::size_t> StepsOfNodes::step_of(NodeId node) const {
  const auto find = [](const Index& index, std::string_view name) -> std::optional<std::size_t> {
    const auto found = index.find(name);
    if (found == index.end()) return std::nullopt;
    return found->second;
  };
  const std::string& name = graph_.node(node).name;
  if (!name.empty()) return find(by_node_, name);
  constexpr int kMaxFused = 4;
  for (int hop = 0; hop < kMaxFused; ++hop) {
    const ValueId output = first_output(graph_.node(node));
    if (output == kNoValue) break;
    const std::optional<std::size_t> step = find(by_output_, graph_.value(output).name);
    if (step && steps_[*step].op_type != "Reorder") return step;
    if (graph_.consumers(output).size() != 1) break;
    node = graph_.consumers(output).front();
  }
  return std::nullopt;
}

std::vector<StepInfo> named_steps(std::vector<StepInfo> steps, const Graph& graph) {
  const std::vector<StepInfo> unnamed = steps;
  const StepsOfNodes steps_of(unnamed, graph);
  for (const NodeId node : graph.nodes()) {
    if (!graph.node(node).name.empty()) continue;
    const std::optional<std::size_t> step = steps_of.step_of(node);
    // A node that was fused into a step leads to it too, but does not give it its name.
    if (!step || steps[*step].op_type != graph.node(node).op_type) continue;
    if (steps[*step].node.empty()) steps[*step].node = name_of(graph, node);
  }
  return steps;
}

}  // namespace qtool
