#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/passes/passes.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "unit/onnx_check.h"
#include "unit/onnx_models.h"
#include "unit/ops_of.h"

// Models of one node, for the tests of upgrade_opset().
namespace qtool {

using onnx::NodeProto;
using SetAttributes = std::function<void(NodeProto&)>;

inline onnx::AttributeProto& attribute(NodeProto& node, const std::string& name,
                                       onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& result = *node.add_attribute();
  result.set_name(name);
  result.set_type(type);
  return result;
}
inline void set(NodeProto& node, const std::string& name, std::int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
inline void set(NodeProto& node, const std::string& name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}
inline void set(NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
inline void set(NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  auto& result = attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) result.add_ints(value);
}
inline void set(NodeProto& node, const std::string& name, const std::vector<float>& values) {
  auto& result = attribute(node, name, onnx::AttributeProto::FLOATS);
  for (const float value : values) result.add_floats(value);
}

// A model of one node named `node` that reads x [2, 3, 4, 5] and constants, and writes y.
struct OneNode {
  onnx::ModelProto model;

  OneNode(const std::string& op, std::int64_t opset, const std::vector<std::string>& inputs,
          const SetAttributes& attributes = {}, const std::vector<std::string>& outputs = {"y"}) {
    model.set_ir_version(3);
    model.add_opset_import()->set_version(opset);
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name(std::string("one"));
    *graph.add_input() = tensor_info("x", {2, 3, 4, 5});
    NodeProto node = node_proto(op, inputs, outputs);
    node.set_name(std::string("node"));
    if (attributes) attributes(node);
    *graph.add_node() = node;
    *graph.add_output() = tensor_info("y", {1});  // not compared with the node's result
  }
  OneNode& floats(const std::string& name, const std::vector<std::int64_t>& dims,
                  const std::vector<float>& values) {
    *model.mutable_graph()->add_initializer() = float_proto(name, dims, values);
    return *this;
  }
  OneNode& ints(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }
  /// Makes x a tensor of unknown rank.
  OneNode& hide_rank() {
    model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    return *this;
  }

  /// The upgraded graph, which ONNX's checker accepts and which a second upgrade does not change.
  [[nodiscard]] Graph upgrade() const {
    Graph graph = load_onnx_bytes(model.SerializeAsString(), "", "model");
    upgrade_opset(graph);
    graph.check();
    EXPECT_EQ(graph.info.opsets.at(""), kCanonicalOpset);
    const std::string bytes = save_onnx_bytes(graph);
    const bool complete = graph.value(graph.inputs()[0]).shape.has_value();  // the checker needs it
    if (complete) {
      EXPECT_EQ(complaint_of_checker(bytes), "");
    }
    Graph again = graph;
    upgrade_opset(again);
    EXPECT_EQ(save_onnx_bytes(again), bytes);
    return graph;
  }
  [[nodiscard]] std::string refusal(ErrorCode code = ErrorCode::kUnsupported) const {
    Graph graph = load_onnx_bytes(model.SerializeAsString(), "", "model");
    try {
      upgrade_opset(graph);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("node 'node'"));
      return error.what();
    }
    return "accepted";
  }
};

inline const Node& node_called(const Graph& graph, const std::string& name) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).name == name) return graph.node(id);
  }
  throw std::runtime_error("no node " + name);
}

inline std::vector<std::int64_t> ints_at(const Graph& graph, std::size_t index,
                                         const std::string& name = "node") {
  return to_int64s(*graph.value(node_called(graph, name).inputs.at(index)).constant);
}

inline std::vector<float> floats_at(const Graph& graph, std::size_t index) {
  const auto values =
      graph.value(node_called(graph, "node").inputs.at(index)).constant->values<float>();
  return {values.begin(), values.end()};
}

}  // namespace qtool
