#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Handles of a Graph's values and nodes. They stay valid while the graph is edited.
enum class ValueId : std::int32_t {};
enum class NodeId : std::int32_t {};
inline constexpr ValueId kNoValue{-1};  ///< an optional input that is absent
inline constexpr NodeId kNoNode{-1};    ///< producer of graph inputs and constants

/// One extent of a declared shape: a number, a symbol ("N"), or unknown (neither).
struct Dim {
  std::optional<std::int64_t> size;
  std::string symbol;
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// Concrete shapes of graph inputs by name. Inputs left out keep their declared shape; a declared
/// batch symbol counts as 1.
using InputShapes = std::map<std::string, Shape, std::less<>>;

/// A tensor that flows along the graph's edges: an input, a constant, or the output of a node.
struct Value {
  std::string name;
  std::optional<DType> dtype;              ///< the declared type, if there is one
  std::optional<std::vector<Dim>> shape;   ///< the declared shape, if there is one
  std::shared_ptr<const Tensor> constant;  ///< set for initializers
  NodeId producer = kNoNode;
};

struct Subgraph;

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>,
                               std::shared_ptr<const Tensor>, std::shared_ptr<const Subgraph>>;

/// One operation. The domain of ONNX's own operators is the empty string.
struct Node {
  using AttributeMap = std::map<std::string, Attribute, std::less<>>;

  std::string name;
  std::string op_type;
  std::string domain;
  std::vector<ValueId> inputs;   ///< kNoValue where an optional input is left out
  std::vector<ValueId> outputs;  ///< kNoValue where an optional output is left out
  AttributeMap attributes;

  /// The attribute `key`, or `fallback` when it is absent. Throws Error(kInvalidModel), which names
  /// the node, when the attribute has another type.
  [[nodiscard]] std::int64_t get_int(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] float get_float(std::string_view key, float fallback) const;
  [[nodiscard]] std::string get_string(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> get_ints(std::string_view key,
                                                   std::vector<std::int64_t> fallback) const;
  /// Returns null when the attribute is absent.
  [[nodiscard]] std::shared_ptr<const Tensor> get_tensor(std::string_view key) const;
  /// Throws also when the attribute is absent.
  [[nodiscard]] std::shared_ptr<const Subgraph> get_subgraph(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return attributes.contains(key); }
  [[nodiscard]] bool is(std::string_view op, std::string_view in_domain = "") const {
    return op_type == op && domain == in_domain;
  }
  /// Whether input / output `index` is connected.
  [[nodiscard]] bool has_input(std::size_t index) const {
    return index < inputs.size() && inputs[index] != kNoValue;
  }
  [[nodiscard]] bool has_output(std::size_t index) const {
    return index < outputs.size() && outputs[index] != kNoValue;
  }
  [[nodiscard]] bool has_subgraphs() const;
  /// The number of inputs that belong to the operator itself. The inputs after them are values that
  /// its subgraphs read from the surrounding graph, in the order of the attributes.
  [[nodiscard]] std::size_t own_inputs() const;
};

/// The contents of a model file apart from its graph. Saving the model keeps them, with the
/// exceptions that save_onnx_bytes() names.
struct ModelInfo {
  std::int64_t ir_version = 8;
  std::int64_t model_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::string doc_string;
  std::string graph_name = "graph";
  std::map<std::string, std::int64_t> opsets;  ///< domain -> version
  std::map<std::string, std::string> metadata;
  /// Maps the name of each tensor that a pass removed to the name of the tensor that replaced it.
  /// Not saved.
  std::map<std::string, std::string> aliases;
};

/// A model: nodes in static single assignment form, listed in topological order. Copies are cheap,
/// because they share the constants. Names of values are unique; names of nodes may be empty.
class Graph {
 public:
  ModelInfo info;

  // -- Reading. It is not allowed on a temporary, because the returned references would dangle. --
  /// The nodes in their order. The list changes when the graph is edited. Cost: linear in the graph
  /// for the first call after an edit that is not an append; constant otherwise.
  [[nodiscard]] const std::vector<NodeId>& nodes() const&;
  const std::vector<NodeId>& nodes() const&& = delete;
  /// The node that follows `id` in the order; kNoNode for the last node.
  [[nodiscard]] NodeId node_behind(NodeId id) const { return record(id).next; }
  [[nodiscard]] const Node& node(NodeId id) const&;
  const Node& node(NodeId id) const&& = delete;
  /// Whether the node exists: false after it was removed.
  [[nodiscard]] bool contains(NodeId id) const;
  [[nodiscard]] const Value& value(ValueId id) const&;
  const Value& value(ValueId id) const&& = delete;
  [[nodiscard]] const std::vector<ValueId>& inputs() const& noexcept { return inputs_; }
  const std::vector<ValueId>& inputs() const&& = delete;
  [[nodiscard]] const std::vector<ValueId>& outputs() const& noexcept { return outputs_; }
  const std::vector<ValueId>& outputs() const&& = delete;
  [[nodiscard]] std::optional<ValueId> find_value(std::string_view name) const;
  /// The exclusive upper bound of all ValueIds as numbers, for tables that are indexed by ValueId.
  [[nodiscard]] std::size_t value_limit() const noexcept { return values_.size(); }
  /// Values that are inputs or outputs of the graph, or that a node reads or produces.
  [[nodiscard]] std::vector<ValueId> living_values() const;
  /// Nodes that read `id`, each once, in no particular order.
  [[nodiscard]] const std::vector<NodeId>& consumers(ValueId id) const&;
  const std::vector<NodeId>& consumers(ValueId id) const&& = delete;
  /// The index of `id` among the outputs of its producer.
  [[nodiscard]] std::size_t output_index(ValueId id) const { return record(id).port; }
  [[nodiscard]] bool is_input(ValueId id) const;
  [[nodiscard]] bool is_output(ValueId id) const;
  [[nodiscard]] bool is_constant(ValueId id) const {
    return id != kNoValue && value(id).constant != nullptr;
  }
  /// The name of a node in messages, such as `node 'conv1' (Conv)`. A node without a name is
  /// identified by its first output.
  [[nodiscard]] std::string describe(NodeId id) const;

  // -- Editing. Except for remove_dead_nodes() and sort(), the cost of an edit does not depend on
  // the size of the graph, on the number of readers of a value or on the number of operands of a
  // node. It grows only with the number of things that the edit removes or replaces. --
  /// A new value. Throws Error(kInvalidModel) when the name is taken.
  ValueId add_value(std::string name);
  /// A new constant.
  ValueId add_constant(std::string name, std::shared_ptr<const Tensor> tensor);
  ValueId add_constant(std::string name, Tensor tensor) {
    return add_constant(std::move(name), std::make_shared<const Tensor>(std::move(tensor)));
  }
  /// `base`, or `base` followed by a number: a name that no value has.
  [[nodiscard]] std::string unique_name(std::string_view base) const;
  /// Makes an existing value a graph input / output.
  void add_input(ValueId id);
  void add_output(ValueId id);
  /// Replaces the list of the graph's inputs / outputs. Each value may be listed once. A value that
  /// is no longer an input must have no reader.
  void set_inputs(std::vector<ValueId> ids);
  void set_outputs(std::vector<ValueId> ids);
  /// Replaces a graph output at its position in the list.
  void replace_output(ValueId from, ValueId to);
  /// Turns a value into a constant; the node that produced it is no longer its producer.
  void set_constant(ValueId id, std::shared_ptr<const Tensor> tensor);
  void declare(ValueId id, std::optional<DType> dtype, std::optional<std::vector<Dim>> shape);
  void rename_value(ValueId id, std::string name);

  /// Adds a node in front of the node `before` in the order, or at the end for kNoNode. The outputs
  /// of the new node must have no producer yet.
  NodeId add_node(Node node, NodeId before = kNoNode);
  /// Removes a node; its outputs lose their producer.
  void remove_node(NodeId id);
  void set_input(NodeId id, std::size_t index, ValueId value);
  void set_output(NodeId id, std::size_t index, ValueId value);
  /// Keeps the first `count` inputs and removes the others.
  void truncate_inputs(NodeId id, std::size_t count);
  /// Keeps the first `count` outputs and removes the others, whose values lose their producer.
  void truncate_outputs(NodeId id, std::size_t count);
  void set_op(NodeId id, std::string op_type, std::string domain = "");
  Node::AttributeMap& attributes(NodeId id);
  /// Makes every node that reads `from` read `to` instead. If `from` is a graph output, it stays
  /// one.
  void replace_uses(ValueId from, ValueId to);
  /// Removes every node whose outputs are neither read nor graph outputs, until there is no such
  /// node. Returns the number of removed nodes.
  std::int64_t remove_dead_nodes();
  /// Restores topological order (stable). If there is a cycle, throws Error(kInvalidModel) that
  /// names a node on it or after it.
  void sort();

  /// Verifies the invariants: every value that is read has a producer or is an input or a constant;
  /// no value has two producers; the order is topological; indices are consistent. Throws
  /// Error(kInvalidModel).
  void check() const;

 private:
  // An index of a list that is too long to search. The first edit that needs the index builds it.
  // Copying a graph does not copy it.
  template <typename T>
  struct Lookup {
    std::unique_ptr<T> made;

    Lookup() = default;
    Lookup(const Lookup& /*other*/) noexcept {}
    Lookup(Lookup&&) noexcept = default;
    Lookup& operator=(const Lookup& /*other*/) noexcept {
      made.reset();
      return *this;
    }
    Lookup& operator=(Lookup&&) noexcept = default;
    ~Lookup() = default;
  };
  struct ValueRecord {
    Value value;
    std::vector<NodeId> consumers;
    Lookup<std::unordered_map<NodeId, std::size_t>> places;  // index in `consumers`
    std::size_t port = 0;                                    // index in the outputs of the producer
    std::ptrdiff_t output_port = -1;  // index in the outputs of the graph, or -1
    bool is_input = false;
  };
  struct NodeRecord {
    Node node;
    bool alive = true;
    NodeId previous = kNoNode;
    NodeId next = kNoNode;
    Lookup<std::set<std::pair<ValueId, std::size_t>>> ports;  // each input and its index
  };
  // The nodes in their order, as a list. The list is made from the links between the nodes on
  // request. Threads that only read a graph may request it at the same time.
  class Order {
   public:
    Order() = default;
    Order(const Order& other);
    Order(Order&& other) noexcept;
    Order& operator=(const Order& other);
    Order& operator=(Order&& other) noexcept;
    ~Order() = default;

    const std::vector<NodeId>& list(const Graph& graph) const;
    void append(NodeId id);
    void forget() { is_current_ = false; }

   private:
    mutable std::mutex mutex_;
    mutable std::atomic<bool> is_current_ = true;
    mutable std::vector<NodeId> list_;
  };

  ValueRecord& record(ValueId id);
  [[nodiscard]] const ValueRecord& record(ValueId id) const;
  NodeRecord& record(NodeId id);
  [[nodiscard]] const NodeRecord& record(NodeId id) const;
  void link(NodeId id, NodeId before);
  void unlink(NodeId id);
  void set_order(const std::vector<NodeId>& order);
  void add_reader(ValueId value, NodeId node);
  void drop_reader(ValueId value, NodeId node);
  bool reads(NodeId id, ValueId value);
  void move_port(NodeId id, std::size_t port, ValueId from, ValueId to);

  std::vector<ValueRecord> values_;
  std::vector<NodeRecord> nodes_;
  Order order_;
  NodeId first_ = kNoNode;
  NodeId last_ = kNoNode;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::unordered_map<std::string, ValueId> by_name_;
};

/// A graph inside a node: a branch of an If, or the body of a Loop or Scan. In a model file it may
/// read values of the surrounding graph by name. Here it is closed: these captured values are its
/// last inputs. `graph.info` holds only the opsets.
struct Subgraph {
  Graph graph;
  std::size_t captures = 0;  ///< the number of captured values, which are the last inputs
};

/// The end of a network that the executor does not run, such as the selection of boxes. There are
/// two reasons: the number of results depends on the data, or qtool does not have the operator. A
/// quantized model keeps this part as it is.
struct LeftOut {
  std::string reason;                ///< "node 'nms' (NonMaxSuppression): the data decides ..."
  std::vector<std::string> outputs;  ///< outputs of the network that are not computed
  std::vector<std::string> instead;  ///< tensors that become outputs instead
};

}  // namespace qtool
