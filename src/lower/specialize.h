#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/id_map.h"
#include "graph/passes/fold_budget.h"
#include "ops/lowered.h"
#include "ops/operator.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A graph for concrete input shapes: every value has a type and a shape.
struct ShapedGraph {
  Graph graph;
  ValueInfos infos;
  /// Number of graph outputs of the model. The graph outputs after these are observed tensors,
  /// which passes must not change.
  std::size_t outputs = 0;
  std::vector<ValueId> observed{};  ///< in the order of CompileOptions::observe
  /// The bytes that computed constants may still take. The subgraphs of nodes share this budget.
  std::shared_ptr<FoldBudget> folding{};

  [[nodiscard]] const ValueInfo& info(ValueId id) const { return *infos[id]; }

  /// The result of lowering a node: its parameters and its ONNX operator. Default values for a node
  /// that was not lowered.
  [[nodiscard]] const LoweredNode& lowered(NodeId id) const;
  /// Makes a node the operator `op_type` of kLoweredDomain. Inputs, outputs and attributes stay. A
  /// node that is lowered again still remembers its ONNX operator.
  void lower_node(NodeId id, std::string_view op_type, LoweredParams params);
  /// Sets the parameters of a node that keeps its ONNX operator.
  void set_params(NodeId id, LoweredParams params) { slot(id).params = std::move(params); }
  /// Notes that a node computes on integers.
  void mark_integer(NodeId id);

  /// The position of each node in the order of execution.
  [[nodiscard]] IdMap<NodeId, std::size_t> positions() const;

  /// Adds a value or constant named `base`, with a number appended when the name is taken.
  ValueId add_value(std::string_view base, ValueInfo info);
  ValueId add_constant(std::string_view base, Tensor tensor);

 private:
  LoweredNode& slot(NodeId id);

  IdMap<NodeId, LoweredNode> lowered_{};  // may lack the last nodes
};

/// Infers type and shape of every value from `shapes` and turns every value that is then known into
/// a constant (mainly shape arithmetic). An If, Loop or Scan whose course is then known is replaced
/// by the nodes of its subgraph. Q/DQ of constants stays, because lowering needs it. The tensors
/// named in `observe` become graph outputs, so the nodes that they depend on stay too. A node whose
/// results do not fit into the budget `folding` also stays; null: a budget of the graph's own.
/// Throws Error(kUnsupported) for unknown operators, Error(kInvalidModel) for contradictions,
/// Error(kUsage) when `shapes` names no input or contradicts a declared shape or when an observed
/// tensor is not computed by the network, and Error(kCancelled) when the current StopScope asks to
/// stop.
ShapedGraph specialize(const Graph& graph, const InputShapes& shapes,
                       const std::vector<std::string>& observe = {},
                       std::shared_ptr<FoldBudget> folding = nullptr);

/// Infers the shapes of values that an edit of the graph added.
void infer_missing(ShapedGraph& shaped);

/// Evaluates the remaining operations on constants (dequantized weights that stayed FP32).
void fold_all_constants(ShapedGraph& shaped);

}  // namespace qtool
