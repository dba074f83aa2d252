#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/passes/passes.h"
#include "graph/rank.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {

/// A node that is being rewritten in terms of kCanonicalOpset, with the edits that rules use. New
/// values are named after the node's first output, new nodes after the node.
class Upgrade {
 public:
  Upgrade(Graph& graph, NodeId id, std::int64_t from) : graph_(graph), id_(id), from_(from) {}

  /// The opset in which the node is written.
  [[nodiscard]] std::int64_t from() const noexcept { return from_; }
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  [[nodiscard]] const Node& node() const { return graph_.node(id_); }
  [[nodiscard]] const Value& value(ValueId id) const { return graph_.value(id); }
  [[nodiscard]] ValueId input(std::size_t index) const {
    return node().has_input(index) ? node().inputs[index] : kNoValue;
  }
  /// How many nodes read an input.
  [[nodiscard]] std::size_t readers(std::size_t index) const {
    return input(index) == kNoValue ? 0 : graph_.consumers(input(index)).size();
  }
  [[nodiscard]] const Tensor* constant(std::size_t index) const {
    return node().has_input(index) ? graph_.value(node().inputs[index]).constant.get() : nullptr;
  }
  /// The integers of a constant input. Throws Error(kUnsupported) when the input is not constant.
  [[nodiscard]] std::vector<std::int64_t> constant_ints(std::size_t index,
                                                        std::string_view what) const;
  /// The rank of an input. Throws Error(kUnsupported) when the model does not determine it.
  [[nodiscard]] std::int64_t require_rank(std::size_t index) const;
  /// `axes` as numbers that count from the front: negative axes are converted.
  [[nodiscard]] std::vector<std::int64_t> plain_axes(std::vector<std::int64_t> axes,
                                                     std::int64_t rank) const;

  [[nodiscard]] Node::AttributeMap& attributes() { return graph_.attributes(id_); }
  void drop(std::string_view key);
  /// Removes an attribute and returns its value; std::nullopt when it is absent. Throws
  /// Error(kInvalidModel) when it has another type.
  std::optional<std::int64_t> take_int(std::string_view key);
  std::optional<float> take_float(std::string_view key);
  std::optional<std::string> take_string(std::string_view key);
  std::optional<std::vector<std::int64_t>> take_ints(std::string_view key);
  std::optional<std::vector<float>> take_floats(std::string_view key);

  ValueId add_value(std::string_view suffix) { return graph_.add_value(value_name(suffix)); }
  ValueId add_constant(std::string_view suffix, Tensor tensor);
  ValueId add_ints(std::string_view suffix, const std::vector<std::int64_t>& values);
  void set_input(std::size_t index, ValueId value) { graph_.set_input(id_, index, value); }
  void set_output(std::size_t index, ValueId value) { graph_.set_output(id_, index, value); }
  void truncate_inputs(std::size_t count) { graph_.truncate_inputs(id_, count); }
  void truncate_outputs(std::size_t count) { graph_.truncate_outputs(id_, count); }
  void set_op(std::string op_type) { graph_.set_op(id_, std::move(op_type)); }
  /// The node becomes `op_type` of ONNX's own domain in the version of `opset`. Then the rule of
  /// that operator rewrites it.
  void become(std::string op_type, std::int64_t opset);
  /// Turns an attribute of integers into a constant input. Does nothing when the attribute is
  /// absent.
  void ints_to_input(std::string_view key, std::size_t index);

  /// Inserts a node with one new output before this node. Returns the output.
  ValueId before(std::string_view op_type, std::vector<ValueId> inputs, std::string_view suffix,
                 Node::AttributeMap attributes = {});
  /// Like before() above, but the output is an existing value, which must have no producer yet.
  void before(std::string_view op_type, std::vector<ValueId> inputs, ValueId output,
              Node::AttributeMap attributes = {});
  /// Like before() above, with one new output for each suffix. Returns the outputs.
  std::vector<ValueId> before_all(std::string_view op_type, std::vector<ValueId> inputs,
                                  const std::vector<std::string_view>& suffixes);
  /// Inserts a node after this node, between output 0 and its readers. This node gets a new output
  /// value, which is the first input of the new node; the new node writes the old value. Returns
  /// the new value.
  ValueId after(std::string_view op_type, std::vector<ValueId> more_inputs, std::string_view suffix,
                Node::AttributeMap attributes = {});
  /// Inserts a node after this node. Its output is an existing value, which must have no producer
  /// yet.
  void after(std::string_view op_type, std::vector<ValueId> inputs, ValueId output);

  /// Throws Error(kUnsupported) naming node and opset.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  template <typename T>
  std::optional<T> take(std::string_view key, std::string_view type);
  [[nodiscard]] std::string value_name(std::string_view suffix) const;
  [[nodiscard]] std::string node_name(std::string_view suffix) const;

  Graph& graph_;
  NodeId id_;
  std::int64_t from_;
};

/// The rule of one operator. It rewrites nodes of all opsets whose definition of the operator
/// differs from the canonical one.
using UpgradeRule = void (*)(Upgrade&);

/// Whether a node of ONNX's own domain has an operator that the canonical opset does not have and
/// that qtool does not run: an operator of a newer opset, or of another runtime.
bool is_unknown(const Node& node);

/// Whether there is a rule for an operator: in microsoft.inc for the domain com.microsoft, in
/// upgrades.inc for ONNX's own domain.
bool has_upgrade(std::string_view op_type, std::string_view domain = "");

}  // namespace qtool
