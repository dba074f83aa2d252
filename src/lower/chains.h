#pragma once

#include <optional>
#include <vector>

#include "graph/id_map.h"
#include "lower/specialize.h"
#include "ops/lowered.h"

namespace qtool {

/// Element-wise nodes that one operator can compute; see Chain.
struct FoundChain {
  std::vector<NodeId> nodes;    ///< in the order of execution; the last one writes the result
  ChainParams params;           ///< the same functions as steps
  std::vector<ValueId> inputs;  ///< the tensors that the chain reads
};

/// Finds chains of element-wise functions, such as the nodes that exporters write for GELU, SiLU
/// and Mish. The positions of the nodes are read once, so a pass that moves or adds nodes needs a
/// finder of its own.
class ChainFinder {
 public:
  explicit ChainFinder(const ShapedGraph& shaped)
      : shaped_(shaped), graph_(shaped.graph), position_(shaped.positions()) {}

  /// The chain that ends with the node `last`: this node, and the nodes before it whose results
  /// only nodes of the chain read. Nothing when `last` is not element-wise.
  [[nodiscard]] std::optional<FoundChain> chain_before(NodeId last) const;

 private:
  struct Row;

  [[nodiscard]] bool is_tensor_of(ValueId id, const Shape& shape) const;
  [[nodiscard]] const Row* row_of(NodeId id) const;
  [[nodiscard]] std::vector<NodeId> nodes_before(NodeId last) const;
  [[nodiscard]] bool ends_with_sigmoid_of(const ChainOperand& x, const ChainOperand& sigmoid,
                                          ValueId id, const ChainParams& params) const;
  void add_steps(const Node& node, const Row& row, const ChainOperand& a, const ChainOperand& b,
                 ChainParams& params) const;

  const ShapedGraph& shaped_;
  const Graph& graph_;
  IdMap<NodeId, std::size_t> position_;  // ShapedGraph::positions()
};

}  // namespace qtool
