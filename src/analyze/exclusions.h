#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/quantize/target.h"
#include "quantize/placement/placement.h"
#include "quantize/table_view.h"

namespace qtool {

/// Nodes of a graph, sorted by their ids, each once.
using NodeSet = std::vector<NodeId>;
NodeSet joined(const NodeSet& a, const NodeSet& b);
/// What is in `a` and not in `b`.
NodeSet without(const NodeSet& a, const NodeSet& b);

/// Which nodes must stay in FP32 so that a source of error of a recipe's model is gone.
class Exclusions {
 public:
  /// Both must live as long. Throws as lay_groundwork().
  Exclusions(const Graph& graph, const Recipe& recipe);

  /// The placement of the recipe's model, and the one with `nodes` in FP32 too.
  [[nodiscard]] const Placement& placement() const noexcept { return base_; }
  [[nodiscard]] Placement placement(const NodeSet& nodes) const {
    return placements_.without(nodes);
  }
  /// What analyze() would measure: tensors that are rounded, and layers with weights on integers.
  [[nodiscard]] std::int64_t sources() const;
  /// kFloat for a node that is not in the placement.
  [[nodiscard]] NodeRole role(NodeId id) const;
  /// Empty where nothing can be done.
  [[nodiscard]] NodeSet of(const ErrorSource& source) const;
  /// The nodes of names_of().
  [[nodiscard]] NodeSet nodes_of(const std::vector<std::string>& names) const;
  /// In the graph's order.
  [[nodiscard]] std::vector<std::string> names_of(const NodeSet& nodes) const;

 private:
  void add_readers(ValueId tensor, NodeSet& nodes, std::unordered_set<ValueId>& seen) const;
  void add_producer(ValueId tensor, NodeSet& nodes) const;

  const Graph& graph_;
  Target target_;
  TableView view_;
  Placements placements_;
  Placement base_;
  std::unordered_map<NodeId, NodeRole> roles_;
  std::unordered_map<std::string_view, NodeId> nodes_;
};

}  // namespace qtool
