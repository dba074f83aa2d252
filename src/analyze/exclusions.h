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

/// A set of nodes of a graph, sorted by id, without duplicates.
using NodeSet = std::vector<NodeId>;
NodeSet joined(const NodeSet& a, const NodeSet& b);
/// The nodes of `a` that are not in `b`.
NodeSet without(const NodeSet& a, const NodeSet& b);

/// Finds the nodes that must stay in FP32 so that a source of error is removed from the base
/// model.
class Exclusions {
 public:
  /// `graph` and `base` must outlive the object. Throws as lay_groundwork() does.
  Exclusions(const Graph& graph, const StaticInputs& base);

  /// The placement of the base model.
  [[nodiscard]] const Placement& placement() const noexcept { return base_; }
  /// The placement of the base model, with `nodes` in FP32 too.
  [[nodiscard]] Placement placement(const NodeSet& nodes) const {
    return placements_.without(nodes);
  }
  /// The number of sources that analyze() would measure: rounded tensors, and layers with weights
  /// that run on integers.
  [[nodiscard]] std::int64_t sources() const;
  /// The role of a node in the placement; kFloat for a node that is not in it.
  [[nodiscard]] NodeRole role(NodeId id) const;
  /// The nodes that must stay in FP32 so that `source` is removed. Empty where that is not
  /// possible.
  [[nodiscard]] NodeSet of(const ErrorSource& source) const;
  /// The nodes with these names.
  [[nodiscard]] NodeSet nodes_of(const std::vector<std::string>& names) const;
  /// The names of the nodes, in the order of the graph.
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
