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

// What passes need of the graphs inside nodes.
namespace qtool {

using SubgraphPtr = std::shared_ptr<const Subgraph>;

/// A subgraph of a node, and the inputs of the node that it captures.
struct SubgraphUse {
  std::string_view attribute;
  SubgraphPtr subgraph;
  std::span<const ValueId> captured;
};

/// Throws Error(kInvalidModel) that begins with the name of the node.
[[noreturn]] void fail_node(const Graph& graph, NodeId id, std::string_view message);

/// The same, when `what` of the node is not as many as expected.
void require_count(const Graph& graph, NodeId id, std::string_view what, std::size_t found,
                   std::size_t expected);

/// The subgraphs of a node, which must not change meanwhile. Throws Error(kInvalidModel) when the
/// node has fewer inputs than they capture.
std::vector<SubgraphUse> subgraphs_of(const Graph& graph, NodeId id);

/// The one called `attribute`. Throws Error(kInvalidModel) when there is none.
SubgraphUse subgraph_of(const Graph& graph, NodeId id, std::string_view attribute);

/// Puts `change(subgraph, what it captures)` in the place of each subgraph of a node. It must keep
/// the number of inputs and outputs.
void change_subgraphs(Graph& graph, NodeId id,
                      const std::function<Graph(Graph, std::span<const ValueId>)>& change);

/// Makes small constants that subgraphs capture, such as axes and shapes, constants of theirs:
/// upgrades and other passes look at one graph at a time. Subgraphs of subgraphs stay as they are.
/// Cost: linear in the subgraphs.
void take_in_constants(Graph& graph);

/// Drops what the subgraphs of a node capture and do not read, such as the operands of nodes that
/// were removed as dead: a model file does not say it either. Cost: that of copying the subgraphs
/// that change.
void drop_unread_captures(Graph& graph, NodeId id);

/// Calls `visit` for every node, those of subgraphs too.
void for_each_node(const Graph& graph, const std::function<void(const Graph&, NodeId)>& visit);

/// The subgraph as a model file has it: what it captures is called as in `scopes`, the graphs
/// around it from the outermost to that of the node, and no other value has the name of one of
/// theirs. What it captures twice is read through the first of both; what it only hands out goes
/// through an Identity.
Graph name_as_in_file(const SubgraphUse& use, std::span<const Graph* const> scopes);

/// What the names of the nodes and tensors of a subgraph begin with when it is copied: the name of
/// its node, not more than the first 128 bytes of it, and "/".
std::string prefix_of(const Graph& graph, NodeId id);

/// Copies graphs into another one. A constant is added once, however often graphs that hold it are
/// copied.
class Inliner {
 public:
  /// `graph` must live as long.
  explicit Inliner(Graph& graph) : graph_(graph) {}

  /// Adds the nodes of `body` at the end of the order: sort() afterwards. Its inputs become
  /// `inputs`; its outputs are written to `outputs`, values without a producer, kNoValue for one
  /// that nobody wants. Other names get `prefix` and, where they are taken, a number. Returns the
  /// new nodes. Cost: linear in the body.
  std::vector<NodeId> copy(const Graph& body, std::span<const ValueId> inputs,
                           std::span<const ValueId> outputs, std::string_view prefix);

 private:
  ValueId copy_constant(const Value& value, std::string_view prefix);

  Graph& graph_;
  std::unordered_map<const Tensor*, ValueId> constants_;
};

/// What is known of a value before the graph runs.
struct KnownValue {
  std::shared_ptr<const Tensor> constant;
  std::optional<DType> dtype;
  std::optional<std::vector<Dim>> shape;
};

/// What is certain of a value of a graph whose shapes are not inferred: the number of its axes and,
/// of inputs and constants, the type.
KnownValue known_of(const Graph& graph, ValueId id);

/// A graph with some of its inputs made constants or declared.
struct BoundGraph {
  Graph graph;
  std::vector<std::size_t> inputs;  ///< of its inputs, which of `body` they were
};

/// `known`: by input of `body`.
BoundGraph bind_inputs(const Graph& body, std::span<const KnownValue> known);

}  // namespace qtool
