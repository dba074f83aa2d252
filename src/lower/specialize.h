#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/fold_budget.h"
#include "ops/lowered.h"
#include "ops/operator.h"
#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A graph for concrete input shapes: every value has a type and a shape.
struct ShapedGraph {
  Graph graph;
  std::vector<std::optional<ValueInfo>> infos;  ///< by ValueId
  /// Number of graph outputs of the model. Those listed after them are observed tensors, which
  /// passes must not change.
  std::size_t outputs = 0;
  std::vector<ValueId> observed{};  ///< as CompileOptions::observe names them
  /// What constants may still take; the subgraphs of nodes share it.
  std::shared_ptr<FoldBudget> folding{};

  [[nodiscard]] const ValueInfo& info(ValueId id) const {
    return *infos[static_cast<std::size_t>(id)];
  }

  /// What lowering said about a node; nothing but defaults for one that it left alone.
  [[nodiscard]] const LoweredNode& lowered(NodeId id) const;
  /// Makes a node the operator `op_type` of kLoweredDomain. Inputs, outputs and attributes stay;
  /// lowered again, it still remembers the ONNX operator it was.
  void lower_node(NodeId id, std::string_view op_type, LoweredParams params);
  /// Keeps what the operator of a node, still one of ONNX's, has to know.
  void set_params(NodeId id, LoweredParams params) { slot(id).params = std::move(params); }
  /// Notes that a node computes on integers.
  void mark_integer(NodeId id);

  /// By NodeId: where the node stands in the order of execution.
  [[nodiscard]] std::vector<std::size_t> positions() const;

  /// A new value or constant named `base`, with a number behind it where that is taken.
  ValueId add_value(std::string_view base, ValueInfo info);
  ValueId add_constant(std::string_view base, Tensor tensor);

 private:
  LoweredNode& slot(NodeId id);

  std::vector<LoweredNode> lowered_{};  // by NodeId; shorter where the last ones are not lowered
};

/// Infers type and shape of every value from `shapes` and turns every value that is then known into
/// a constant (mainly shape arithmetic). An If, Loop or Scan whose course is known then gives way
/// to the nodes of its subgraph. Q/DQ of constants stays, because lowering needs it. Nodes that the
/// tensors called `observe` depend on stay too, and so do those whose results `folding`, null for
/// one of the graph's own, has no room for. Throws Error(kUnsupported) for unknown operators,
/// Error(kInvalidModel) for contradictions, Error(kUsage) when `shapes` names no input or
/// contradicts a declared shape or when an observed tensor is not computed by the network.
ShapedGraph specialize(const Graph& graph, const InputShapes& shapes,
                       const std::vector<std::string>& observe = {}, const StopCheck& stop = {},
                       std::shared_ptr<FoldBudget> folding = nullptr);

/// Infers the shapes of values that an edit of the graph added.
void infer_missing(ShapedGraph& shaped);

/// Evaluates the remaining operations on constants (dequantized weights that stayed FP32).
void fold_all_constants(ShapedGraph& shaped, const StopCheck& stop);

}  // namespace qtool
