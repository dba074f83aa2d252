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
  std::optional<DType> dtype;              ///< as declared, if it was
  std::optional<std::vector<Dim>> shape;   ///< as declared, if it was
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

  /// The attribute `key`, or `fallback` when it is absent. Throws Error(kInvalidModel) naming the
  /// node when it has another type.
  [[nodiscard]] std::int64_t get_int(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] float get_float(std::string_view key, float fallback) const;
  [[nodiscard]] std::string get_string(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> get_ints(std::string_view key,
                                                   std::vector<std::int64_t> fallback) const;
  [[nodiscard]] std::shared_ptr<const Tensor> get_tensor(std::string_view key) const;  ///< or null
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
  /// How many of the inputs the operator itself has. Those behind them are what its subgraphs read
  /// from the graph around them, in the order of the attributes.
  [[nodiscard]] std::size_t own_inputs() const;
};

/// What a model file contains besides its graph; kept on save.
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
  /// Name of a tensor that a pass removed -> name of the one that took its place; not saved.
  std::map<std::string, std::string> aliases;
};

/// A model: nodes in static single assignment form, listed in topological order. Copies are cheap,
/// constants are shared. Names of values are unique; names of nodes may be empty.
class Graph {
 public:
  ModelInfo info;

  // -- reading, never from a temporary: what is returned would dangle --
  /// The nodes in their order. The list changes when the graph is edited. Cost: linear in the graph
  /// after an edit elsewhere than at the end of the order, none otherwise.
  [[nodiscard]] const std::vector<NodeId>& nodes() const&;
  const std::vector<NodeId>& nodes() const&& = delete;
  /// The node that is listed behind `id`, kNoNode where it is the last.
  [[nodiscard]] NodeId node_behind(NodeId id) const { return record(id).next; }
  [[nodiscard]] const Node& node(NodeId id) const&;
  const Node& node(NodeId id) const&& = delete;
  /// False once the node was removed.
  [[nodiscard]] bool contains(NodeId id) const;
  [[nodiscard]] const Value& value(ValueId id) const&;
  const Value& value(ValueId id) const&& = delete;
  [[nodiscard]] const std::vector<ValueId>& inputs() const& noexcept { return inputs_; }
  const std::vector<ValueId>& inputs() const&& = delete;
  [[nodiscard]] const std::vector<ValueId>& outputs() const& noexcept { return outputs_; }
  const std::vector<ValueId>& outputs() const&& = delete;
  [[nodiscard]] std::optional<ValueId> find_value(std::string_view name) const;
  /// Upper bound (exclusive) of the numbers behind ValueIds, for side tables.
  [[nodiscard]] std::size_t value_limit() const noexcept { return values_.size(); }
  /// Values that are inputs, outputs, constants in use, or connected to a living node.
  [[nodiscard]] std::vector<ValueId> living_values() const;
  /// Nodes that read `id`, each once, in no particular order.
  [[nodiscard]] const std::vector<NodeId>& consumers(ValueId id) const&;
  const std::vector<NodeId>& consumers(ValueId id) const&& = delete;
  /// The place of `id` among the outputs of its producer.
  [[nodiscard]] std::size_t output_index(ValueId id) const { return record(id).port; }
  [[nodiscard]] bool is_input(ValueId id) const;
  [[nodiscard]] bool is_output(ValueId id) const;
  [[nodiscard]] bool is_constant(ValueId id) const {
    return id != kNoValue && value(id).constant != nullptr;
  }
  /// How messages name a node: `node 'conv1' (Conv)`; an unnamed one by its first output.
  [[nodiscard]] std::string describe(NodeId id) const;

  // -- editing, each at a cost that does not depend on the size of the graph, on how many nodes
  // read a value or on how many operands a node has, but for what it removes or replaces --
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
  /// Makes these the graph's inputs / outputs, each once. Inputs that go must have no reader.
  void set_inputs(std::vector<ValueId> ids);
  void set_outputs(std::vector<ValueId> ids);
  /// Replaces a graph output at its position in the list.
  void replace_output(ValueId from, ValueId to);
  /// Turns a value into a constant; the node that produced it is no longer its producer.
  void set_constant(ValueId id, std::shared_ptr<const Tensor> tensor);
  void declare(ValueId id, std::optional<DType> dtype, std::optional<std::vector<Dim>> shape);
  void rename_value(ValueId id, std::string name);

  /// Adds a node before `before` in the order (at the end for kNoNode). Its outputs must have no
  /// producer yet.
  NodeId add_node(Node node, NodeId before = kNoNode);
  /// Removes a node; its outputs lose their producer.
  void remove_node(NodeId id);
  void set_input(NodeId id, std::size_t index, ValueId value);
  void set_output(NodeId id, std::size_t index, ValueId value);
  /// Drops trailing inputs from `count` on.
  void truncate_inputs(NodeId id, std::size_t count);
  /// Drops trailing outputs from `count` on; their values lose their producer.
  void truncate_outputs(NodeId id, std::size_t count);
  void set_op(NodeId id, std::string op_type, std::string domain = "");
  Node::AttributeMap& attributes(NodeId id);
  /// Every node that reads `from` reads `to` instead; graph outputs keep `from`.
  void replace_uses(ValueId from, ValueId to);
  /// Removes nodes none of whose outputs is read or a graph output, repeatedly. Returns how many.
  std::int64_t remove_dead_nodes();
  /// Restores topological order (stable). Throws Error(kInvalidModel) naming a node on a cycle.
  void sort();

  /// Verifies the invariants: every value that is read has a producer, is an input or a constant;
  /// no value has two producers; the order is topological; indices are consistent. Throws
  /// Error(kInvalidModel).
  void check() const;

 private:
  // Where things are that are too many to search for. A copy of a graph does without until it is
  // edited.
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
    Lookup<std::unordered_map<NodeId, std::size_t>> places;  // in `consumers`
    std::size_t port = 0;                                    // among the outputs of the producer
    std::ptrdiff_t output_port = -1;                         // among the outputs of the graph
    bool is_input = false;
  };
  struct NodeRecord {
    Node node;
    bool alive = true;
    NodeId previous = kNoNode;
    NodeId next = kNoNode;
    Lookup<std::set<std::pair<ValueId, std::size_t>>> ports;  // of the values that it reads
  };
  // The order as a list, made from the links between the nodes when it is asked for. Threads that
  // only read a graph may ask at the same time.
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

/// A graph inside a node: a branch of an If, the body of a Loop or Scan. It is closed: what a model
/// file lets it read by name from the graph around it are its last inputs here. `graph.info` holds
/// the opsets only.
struct Subgraph {
  Graph graph;
  std::size_t captures = 0;  ///< number of these last inputs
};

/// The end of a network that an executor does not run, such as the selection of boxes: the data
/// decides how many results there are, or the operator is one that only another runtime has. A
/// quantized model keeps it as it is.
struct LeftOut {
  std::string reason;                ///< "node 'nms' (NonMaxSuppression): the data decides ..."
  std::vector<std::string> outputs;  ///< of the network, that are not computed
  std::vector<std::string> instead;  ///< tensors that are outputs instead
};

}  // namespace qtool
