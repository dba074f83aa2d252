#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Finds the steps of a plan that compute nodes of the graph that was compiled. Cost: linear in the
/// steps once, then that of a look-up.
class StepsOfNodes {
 public:
  /// Both must live as long, and stay as they are.
  StepsOfNodes(const std::vector<StepInfo>& steps, const Graph& graph);
  StepsOfNodes(const std::vector<StepInfo>&&, const Graph&) = delete;

  /// The index of the step of a node: that of its name, or the one that writes its output or, after
  /// fusion, the output of what follows it.
  [[nodiscard]] std::optional<std::size_t> step_of(NodeId node) const;

 private:
  using Index = std::unordered_map<std::string_view, std::size_t>;

  const std::vector<StepInfo>& steps_;
  const Graph& graph_;
  Index by_node_;
  Index by_output_;
};

/// `steps` of `graph` with those of nodes without a name called as name_of() calls these nodes, so
/// that they can be told apart.
std::vector<StepInfo> named_steps(std::vector<StepInfo> steps, const Graph& graph);

}  // namespace qtool
