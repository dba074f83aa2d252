#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/clamp.h"
#include "graph/edit.h"
#include "graph/id_map.h"
#include "lower/passes.h"

namespace qtool {
namespace {

class FloatFusion {
 public:
  explicit FloatFusion(ShapedGraph& shaped)
      : shaped_(shaped), graph_(shaped.graph), position_(shaped.positions()) {}

  void run() {
    const std::vector<NodeId> order = graph_.nodes();
    for (const NodeId id : order) {
      if (is_gone(graph_, id)) continue;  // absorbed
      const Node& node = graph_.node(id);
      if (node.is("Conv")) {
        fuse_residual(id);
        fuse_clamp(id, "FusedConv");
        fuse_function(id);
      } else if (node.is("ConvTranspose")) {
        fuse_clamp(id, "FusedConvTranspose");
      } else if (node.is("Gemm")) {
        fuse_clamp(id, "FusedGemm");
      } else if (node.is("Add") && shaped_.info(node.outputs[0]).dtype == DType::kFloat32) {
        fuse_clamp(id, "FusedAdd");
      }
    }
  }

 private:
  // The only reader of the node's output, unless that tensor is also a graph output.
  std::optional<NodeId> sole_reader(NodeId id) const {
    const ValueId output = graph_.node(id).outputs[0];
    if (graph_.is_output(output) || graph_.consumers(output).size() != 1) return std::nullopt;
    return graph_.consumers(output).front();
  }

  std::optional<Clamp> fusable_clamp(const Node& node) const {
    const std::optional<Range> bounds = applied_clamp_of(graph_, node);
    if (!bounds) return std::nullopt;
    // oneDNN's clip needs min <= max; a Clip with min > max stays a node of its own.
    if (bounds->min > bounds->max) return std::nullopt;
    return Clamp{bounds->min, bounds->max};
  }

  void take_output(NodeId id, NodeId absorbed) {
    const ValueId output = graph_.node(absorbed).outputs[0];
    disconnect(graph_, absorbed);
    graph_.set_output(id, 0, output);
  }

  void fuse_clamp(NodeId id, const char* fused) {
    const std::optional<NodeId> reader = sole_reader(id);
    if (!reader) return;
    const std::optional<Clamp> clamp = fusable_clamp(graph_.node(*reader));
    if (!clamp || graph_.node(*reader).inputs[0] != graph_.node(id).outputs[0]) return;
    shaped_.lower_node(id, fused, FusedParams{*clamp, {}});
    take_output(id, *reader);
  }

  // Exporters write SiLU as x * Sigmoid(x). Returns this Mul for the output x of `id`, if no other
  // node reads x or Sigmoid(x).
  std::optional<NodeId> silu_behind(NodeId id) const {
    const ValueId x = graph_.node(id).outputs[0];
    if (graph_.is_output(x) || graph_.consumers(x).size() != 2) return std::nullopt;
    for (const NodeId reader : graph_.consumers(x)) {
      if (!graph_.node(reader).is("Sigmoid")) continue;
      const std::optional<NodeId> product = sole_reader(reader);
      if (!product || !graph_.node(*product).is("Mul")) continue;
      const std::vector<ValueId>& operands = graph_.node(*product).inputs;
      const ValueId s = graph_.node(reader).outputs[0];
      if ((operands[0] == x && operands[1] == s) || (operands[0] == s && operands[1] == x)) {
        return product;
      }
    }
    return std::nullopt;
  }

  // Fuses an activation function into a convolution that has neither a residual nor a clamp yet.
  void fuse_function(NodeId id) {
    if (!graph_.node(id).is("Conv")) return;
    if (const std::optional<NodeId> product = silu_behind(id)) {
      const std::vector<ValueId> operands = graph_.node(*product).inputs;
      const ValueId x = graph_.node(id).outputs[0];
      const ValueId s = operands[0] == x ? operands[1] : operands[0];
      const NodeId sigmoid = graph_.value(s).producer;
      shaped_.lower_node(id, "FusedConv", fused({FusedFunction::Kind::kSilu}));
      take_output(id, *product);
      disconnect(graph_, sigmoid);
      return;
    }
    const std::optional<NodeId> reader = sole_reader(id);
    if (!reader) return;
    const Node& node = graph_.node(*reader);
    if (node.is("HardSwish")) {
      shaped_.lower_node(id, "FusedConv", fused({FusedFunction::Kind::kHardSwish}));
    } else if (node.is("LeakyRelu")) {
      const float slope = node.get_float("alpha", 0.01F);
      shaped_.lower_node(id, "FusedConv", fused({FusedFunction::Kind::kLeakyRelu, slope}));
    } else {
      return;
    }
    take_output(id, *reader);
  }

  static FusedParams fused(const FusedFunction& function) {
    FusedParams params;
    params.function = function;
    return params;
  }

  void fuse_residual(NodeId id) {
    const std::optional<NodeId> reader = sole_reader(id);
    if (!reader) return;
    const Node& add = graph_.node(*reader);
    const ValueId own = graph_.node(id).outputs[0];
    if (!add.is("Add") || add.inputs[0] == add.inputs[1]) return;
    const ValueId other = add.inputs[0] == own ? add.inputs[1] : add.inputs[0];
    // The other operand must have exactly the same shape and be computed before the convolution
    // runs.
    if (graph_.is_constant(other) || !(shaped_.info(other).shape == shaped_.info(own).shape) ||
        depends_on(other, id)) {
      return;
    }
    shaped_.lower_node(id, "FusedConv", FusedParams{});
    while (graph_.node(id).inputs.size() < 3) {
      graph_.set_input(id, graph_.node(id).inputs.size(), kNoValue);
    }
    graph_.set_input(id, 3, other);
    take_output(id, *reader);
  }

  // Whether `value` may be computed from the output of `id`. The order is topological, and fusing
  // preserves it: a node listed before `id` does not depend on it.
  bool depends_on(ValueId value, NodeId id) const {
    const NodeId producer = graph_.value(value).producer;
    return producer != kNoNode && position_[producer] >= position_[id];
  }

  ShapedGraph& shaped_;
  Graph& graph_;
  IdMap<NodeId, std::size_t> position_;  // ShapedGraph::positions()
};

}  // namespace

void fuse_float(ShapedGraph& shaped) { FloatFusion(shaped).run(); }

}  // namespace qtool
