#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// Finds the step of a plan that computes a node of the compiled graph. Cost: linear in the number
/// of steps for the construction, then a few look-ups in a hash table per node.
class StepsOfNodes {
 public:
  /// Both arguments must outlive this object and must not change.
  StepsOfNodes(const std::vector<StepInfo>& steps, const Graph& graph);
  StepsOfNodes(const std::vector<StepInfo>&&, const Graph&) = delete;

  /// The index of the step that computes `node`: the step with the node's name or, for a node
  /// without a name, the step that writes its output or, after fusion, the output of a node after
  /// it. Nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> step_of(NodeId node) const;

 private:
  using Index = std::unordered_map<std::string_view, std::size_t>;

  const std::vector<StepInfo>& steps_;
  const Graph& graph_;
  Index by_node_;
  Index by_output_;
};

/// `steps` of a plan of `graph`, where the steps of nodes without a name get the names that
/// name_of() gives these nodes. So they can be told apart.
std::vector<StepInfo> named_steps(std::vector<StepInfo> steps, const Graph& graph);

}  // namespace qtool
