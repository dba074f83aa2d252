#pragma once

#include <optional>
#include <vector>

#include "ops/operator.h"
#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A graph for concrete input shapes: every value has a type and a shape.
struct ShapedGraph {
  Graph graph;
  std::vector<std::optional<ValueInfo>> infos;  ///< by ValueId
  /// Graph outputs of the model; those listed behind them are observed tensors, which passes have
  /// to keep just so.
  std::size_t outputs = 0;
  std::vector<ValueId> observed{};  ///< as CompileOptions::observe names them

  [[nodiscard]] const ValueInfo& info(ValueId id) const {
    return *infos[static_cast<std::size_t>(id)];
  }
};

/// Infers type and shape of every value from `shapes` and turns everything that then is known into
/// constants (shape arithmetic above all). Q/DQ of constants stays, for lowering to see. What the
/// tensors called `observe` need stays too. Throws Error(kUnsupported) for unknown operators,
/// Error(kInvalidModel) for contradictions, Error(kUsage) when `shapes` names no input or
/// contradicts a declared shape or when an observed tensor is not computed by the network.
ShapedGraph specialize(const Graph& graph, const InputShapes& shapes,
                       const std::vector<std::string>& observe = {}, const StopCheck& stop = {});

/// Infers the values that an edit of the graph left without a shape.
void infer_missing(ShapedGraph& shaped);

/// Evaluates what is left of operations on constants (dequantized weights that stayed FP32).
void fold_all_constants(ShapedGraph& shaped, const StopCheck& stop);

}  // namespace qtool
