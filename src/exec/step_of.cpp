#include "exec/step_of.h"

#include <algorithm>
#include <string>

#include "graph/node_name.h"

namespace qtool {

std::optional<std::size_t> step_of(const std::vector<StepInfo>& steps, const Graph& graph,
                                   NodeId node) {
  const auto find = [&](auto matches) -> std::optional<std::size_t> {
    const auto step = std::find_if(steps.begin(), steps.end(), matches);
    if (step == steps.end()) return std::nullopt;
    return static_cast<std::size_t>(step - steps.begin());
  };
  const std::string& name = graph.node(node).name;
  if (!name.empty()) return find([&](const StepInfo& step) { return step.node == name; });
  constexpr int kMaxFused = 4;
  for (int hop = 0; hop < kMaxFused; ++hop) {
    const ValueId output = first_output(graph.node(node));
    if (output == kNoValue) break;
    const std::string& tensor = graph.value(output).name;
    const auto step = find([&](const StepInfo& s) { return s.output == tensor; });
    if (step && steps[*step].op_type != "Reorder") return step;
    if (graph.consumers(output).size() != 1) break;
    node = graph.consumers(output).front();
  }
  return std::nullopt;
}

std::vector<StepInfo> named_steps(std::vector<StepInfo> steps, const Graph& graph) {
  const std::vector<StepInfo> unnamed = steps;
  for (const NodeId node : graph.nodes()) {
    if (!graph.node(node).name.empty()) continue;
    const std::optional<std::size_t> step = step_of(unnamed, graph, node);
    // What is fused into a step leads there too, but is not what it is named after.
    if (!step || steps[*step].op_type != graph.node(node).op_type) continue;
    if (steps[*step].node.empty()) steps[*step].node = name_of(graph, node);
  }
  return steps;
}

}  // namespace qtool
