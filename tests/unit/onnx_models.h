#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/onnx/proto.h"
#include "qtool/graph/onnx.h"

namespace qtool {

/// Parts of model files for the tests of the loader.
inline onnx::ValueInfoProto tensor_info(const std::string& name,
                                        const std::vector<std::int64_t>& dims,
                                        std::int32_t type = onnx::TensorProto::FLOAT) {
  onnx::ValueInfoProto info;
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  onnx::TensorShapeProto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
  return info;
}

inline onnx::NodeProto node_proto(const std::string& op, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(to_text(op, "_", outputs.front()));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

inline onnx::TensorProto float_proto(const std::string& name, const std::vector<std::int64_t>& dims,
                                     const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

/// `y = Relu(Add(x, w))` with x [2, 2] and a constant w [2, 2].
inline onnx::ModelProto small_model(std::int64_t opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(opset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("small");
  *graph.add_input() = tensor_info("x", {2, 2});
  *graph.add_output() = tensor_info("y", {2, 2});
  *graph.add_initializer() = float_proto("w", {2, 2}, {1, 2, 3, 4});
  *graph.add_node() = node_proto("Add", {"x", "w"}, {"sum"});
  *graph.add_node() = node_proto("Relu", {"sum"}, {"y"});
  return model;
}

inline Graph load(const onnx::ModelProto& model) {
  return load_onnx_bytes(model.SerializeAsString(), "", "model");
}

inline onnx::ModelProto saved(const Graph& graph) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(save_onnx_bytes(graph)));
  return model;
}

}  // namespace qtool
