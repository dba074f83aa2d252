#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtool/graph/graph.h"

// Functions for passes that work on the graphs inside nodes.
namespace qtool {

using SubgraphPtr = std::shared_ptr<const Subgraph>;

/// A subgraph of a node, and the inputs of the node that it captures.
struct SubgraphUse {
  std::string_view attribute;
  SubgraphPtr subgraph;
  std::span<const ValueId> captured;
};

/// Throws Error(kInvalidModel) whose message begins with the name of the node.
[[noreturn]] void fail_node(const Graph& graph, NodeId id, std::string_view message);

/// Calls fail_node() unless `found` equals `expected`. `what` names the things that were counted.
void require_count(const Graph& graph, NodeId id, std::string_view what, std::size_t found,
                   std::size_t expected);

/// The subgraphs of a node. The node must not change while the result is in use. Throws
/// Error(kInvalidModel) when the node has fewer inputs than its subgraphs capture.
std::vector<SubgraphUse> subgraphs_of(const Graph& graph, NodeId id);

/// The subgraph in the attribute `attribute` of a node. Throws Error(kInvalidModel) when there is
/// none.
SubgraphUse subgraph_of(const Graph& graph, NodeId id, std::string_view attribute);

/// Replaces each subgraph of a node by `change(subgraph, captured values)`. `change` must keep the
/// number of inputs and outputs.
void change_subgraphs(Graph& graph, NodeId id,
                      const std::function<Graph(Graph, std::span<const ValueId>)>& change);

/// Makes small constants that subgraphs capture, such as axes and shapes, constants of the
/// subgraphs themselves. Upgrades and other passes need this, because they look at one graph at a
/// time. Subgraphs of subgraphs stay as they are. Cost: linear in the subgraphs.
void take_in_constants(Graph& graph);

/// Removes captured values that the subgraphs of a node do not read, such as the operands of dead
/// nodes that were removed. A model file does not list them either. Cost: that of copying the
/// subgraphs that change.
void drop_unread_captures(Graph& graph, NodeId id);

/// Calls `visit` for every node of the graph and of its subgraphs.
void for_each_node(const Graph& graph, const std::function<void(const Graph&, NodeId)>& visit);

/// The subgraph with the names that it has in a model file. `scopes` are the surrounding graphs,
/// from the outermost one to the graph of the node. Captured values have their names from the graph
/// of the node; no other value has a name that occurs in `scopes`. A value that is captured twice
/// is read through the first capture. A captured value that is also an output of the subgraph goes
/// through an Identity.
Graph name_as_in_file(const SubgraphUse& use, std::span<const Graph* const> scopes);

/// The prefix of the names of nodes and tensors that are copied from a subgraph: at most the first
/// 128 bytes of the name of its node, followed by "/".
std::string prefix_of(const Graph& graph, NodeId id);

/// Copies graphs into another one. A constant is added only once, even if it occurs in several
/// copies.
class Inliner {
 public:
  /// `graph` must outlive the Inliner.
  explicit Inliner(Graph& graph) : graph_(graph) {}

  /// Adds copies of the nodes of `body` at the end of the order; call sort() afterwards. `inputs`
  /// take the place of the inputs of `body`. The outputs of `body` are written to `outputs`: values
  /// without a producer, or kNoValue for an output that is not needed. The names of all other
  /// values and of the nodes begin with `prefix`; values get a number as well if the name is taken.
  /// Returns the new nodes. Cost: linear in the body.
  std::vector<NodeId> copy(const Graph& body, std::span<const ValueId> inputs,
                           std::span<const ValueId> outputs, std::string_view prefix);

 private:
  ValueId copy_constant(const Value& value, std::string_view prefix);

  Graph& graph_;
  std::unordered_map<const Tensor*, ValueId> constants_;
};

/// The facts about a value that are known before the graph runs.
struct KnownValue {
  std::shared_ptr<const Tensor> constant;
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> shape;
};

/// The facts about a value that are certain without shape inference: the tensor of a constant, the
/// declared shape of an input, for other values the number of axes, and the type only for inputs
/// and constants.
KnownValue known_of(const Graph& graph, ValueId id);

/// A copy of a graph in which some inputs became constants or got a type and shape.
struct BoundGraph {
  Graph graph;
  std::vector<std::size_t> inputs;  ///< for each input of `graph`, its index in `body`
};

/// Copies `body` and applies `known`, one entry for each input of `body`.
BoundGraph bind_inputs(const Graph& body, std::span<const KnownValue> known);

}  // namespace qtool
