#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/element_functions.h"
#include "graph/id_map.h"
#include "graph/node_name.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

struct NodePlacement {
  NodeId id = kNoNode;
  NodeRole role = NodeRole::kFloat;
  std::string reason;  ///< why it stays in FP32: a phrase that fits after "FP32: 'conv1' (...)"
};

/// A tensor that keeps 16 bits, in two bytes.
struct WideTensor {
  ValueId tensor = kNoValue;
  std::vector<NodeId> layers;  ///< layers with weights that read both bytes, by number
  /// Nodes that make it by only moving elements, the last one first. They read reals, so that both
  /// bytes mean something. Empty without layers.
  std::vector<NodeId> movers;
  /// Functions that would run as a table of its values. They read it before it is rounded, and stay
  /// in FP32.
  std::vector<ElementFunction> functions;
};

/// Which nodes and tensors of a graph are quantized: a decision that `calibrate` and `quantize`
/// share.
struct Placement {
  std::vector<NodePlacement> nodes;  ///< in the graph's order
  /// Activations that get a QuantizeLinear/DequantizeLinear pair, in topological order.
  std::vector<ValueId> quantized;
  /// The tensor whose scale and zero point a tensor shares through passing nodes; the tensor itself
  /// if no passing node produces it.
  IdMap<ValueId, ValueId> source;
  /// Functions of one element that run as a table, see Target::fuses_functions.
  std::vector<ElementFunction> functions;
  /// Functions that run inside a product, see Target::function_producers.
  std::vector<ElementFunction> inner_functions;
  std::vector<WideTensor> wide;  ///< see place_wide_tensors()
  /// Tensors that were to keep 16 bits, but that nothing on integers reads, or whose elements are
  /// those of other tensors of 8 bits.
  std::vector<ValueId> not_wide;
  /// Convolutions that add a shortcut before they round, see Target::residual_producers.
  std::int64_t residuals = 0;
};

struct PlacementOptions {
  /// Names of nodes, or patterns with `*` and `?`, that stay in FP32. An unnamed node has the name
  /// of its first output.
  std::vector<std::string> exclude;
  /// Whether the range of a tensor is known. An empty function: all ranges are known, or will be.
  std::function<bool(std::string_view)> has_range;
};

/// Decides which nodes of a prepared graph run on integers for `target`, which tensors get a pair
/// for that, and why every other node stays in FP32.
/// A node runs on integers when the target lists its operator and its operands allow it. A tensor
/// gets a pair when a node reads it as integers. This is decided from the outputs back to the
/// inputs. The input of a fused activation gets no pair. A graph output gets none either, unless
/// integer nodes read it too. Throws Error(kUsage) when an exclusion matches no node. Cost: linear
/// in the graph.
Placement place(const Graph& graph, const Target& target, const PlacementOptions& options = {});

/// Places one graph many times, each time with other nodes left in FP32.
class Placements {
 public:
  /// `graph` and `target` must outlive this object. Throws as place().
  Placements(const Graph& graph, const Target& target, PlacementOptions options = {});
  ~Placements();
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  /// The placement with `nodes` left in FP32, in addition to the nodes that the options exclude.
  /// Unlike place(), it reports a missing range as the reason even for a node that would stay in
  /// FP32 with all ranges. Cost: linear in the graph. Safe to use from several threads.
  [[nodiscard]] Placement without(std::span<const NodeId> nodes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

/// One row for each node of a placement, with the name of the node.
std::vector<NodeReport> report_nodes(const Graph& graph, const Placement& placement);

/// The names of the activations whose ranges quantize() will need, in topological order.
std::vector<std::string> tensors_to_calibrate(const Graph& graph, const Target& target,
                                              std::span<const std::string> exclude = {});

/// The nodes that the patterns match, in the graph's order. Throws Error(kUsage) with the three
/// nearest names for a pattern that matches none.
std::vector<NodeId> match_nodes(const Graph& graph, std::span<const std::string> patterns);

}  // namespace qtool
