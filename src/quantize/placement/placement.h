#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/element_functions.h"
#include "graph/node_name.h"
#include "qtool/graph/graph.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

struct NodePlacement {
  NodeId id = kNoNode;
  NodeRole role = NodeRole::kFloat;
  std::string reason;  ///< why it stays in FP32: a phrase that fits after "FP32: 'conv1' (...)"
};

/// Which nodes and tensors of a graph are quantized: a decision that `calibrate` and `quantize`
/// share.
struct Placement {
  std::vector<NodePlacement> nodes;  ///< in the graph's order
  /// Activations that get a QuantizeLinear/DequantizeLinear pair, each after its producer.
  std::vector<ValueId> quantized;
  /// By ValueId: the tensor whose scale and zero point a tensor shares through passing nodes;
  /// itself if there is none.
  std::vector<ValueId> source;
  /// Functions of one element that run as a table, see Target::fuses_functions.
  std::vector<ElementFunction> functions;
  /// Convolutions that add a shortcut before they round, see Target::residual_producers.
  std::int64_t residuals = 0;
};

struct PlacementOptions {
  /// Names of nodes, or patterns with `*` and `?`, that stay in FP32. An unnamed node has the name
  /// of its first output.
  std::vector<std::string> exclude;
  /// Whether the range of a tensor is known. Empty: all are, or will be.
  std::function<bool(std::string_view)> has_range;
};

/// Decides which nodes of a prepared graph run on integers for `target`, which tensors get a pair
/// for that, and why every other node stays in FP32.
/// A node runs on integers when the target lists its operator and its operands allow it; a tensor
/// gets a pair when a node reads it as integers, found from the outputs back to the inputs. A fused
/// activation's input gets none, and neither do graph outputs, unless integer nodes read them too.
/// Throws Error(kUsage) when an exclusion matches no node. Cost: linear in the graph.
Placement place(const Graph& graph, const Target& target, const PlacementOptions& options = {});

/// Places one graph many times, each time with other nodes left in FP32.
class Placements {
 public:
  /// All arguments must live as long. Throws as place().
  Placements(const Graph& graph, const Target& target, PlacementOptions options = {});
  ~Placements();
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  /// The placement with `nodes` left in FP32 beside those that the options exclude; without the
  /// reasons that other ranges would give. Cost: linear in the graph. Safe to use from several
  /// threads.
  [[nodiscard]] Placement without(std::span<const NodeId> nodes) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

/// The placement of each node by name.
std::vector<NodeReport> report_nodes(const Graph& graph, const Placement& placement);

/// The names of the activations whose ranges quantize() will need, in topological order.
std::vector<std::string> tensors_to_calibrate(const Graph& graph, const Target& target,
                                              std::span<const std::string> exclude = {});

/// Nodes that the patterns match, in the graph's order. Throws Error(kUsage) with the three nearest
/// names for a pattern that matches none.
std::vector<NodeId> match_nodes(const Graph& graph, std::span<const std::string> patterns);

}  // namespace qtool
