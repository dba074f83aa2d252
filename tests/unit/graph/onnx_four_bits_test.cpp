// Weights that a file stores in 4 bits, as ONNX does from opset 21 on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/random_floats.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kUInt4 = 21;
constexpr std::int32_t kInt4 = 22;

onnx::TensorProto packed(const std::string& name, const std::vector<std::int64_t>& dims,
                         std::int32_t type, const std::string& bytes) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(bytes);
  return tensor;
}

onnx::TensorProto byte(const std::string& name, char value) {
  return packed(name, {}, onnx::TensorProto::UINT8, std::string(1, value));
}

/// `y = MatMul(x, DequantizeLinear(w, s, z))` with w [4, 3].
onnx::ModelProto product(std::int32_t type, const std::string& weights, const std::string& zeros) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("product");
  *graph.add_input() = tensor_info("x", {2, 4});
  *graph.add_output() = tensor_info("y", {2, 3});
  *graph.add_initializer() = packed("w", {4, 3}, type, weights);
  *graph.add_initializer() = float_proto("s", {3}, {0.5F, 0.25F, 0.125F});
  *graph.add_initializer() = packed("z", {3}, type, zeros);
  onnx::NodeProto dequantize = node_proto("DequantizeLinear", {"w", "s", "z"}, {"real"});
  onnx::AttributeProto& axis = *dequantize.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  *graph.add_node() = dequantize;
  *graph.add_node() = node_proto("MatMul", {"x", "real"}, {"y"});
  return model;
}

std::string four_bit_refusal(const onnx::ModelProto& model) {
  try {
    static_cast<void>(prepare(load(model)));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// 4 x 3 integers from -8 on, the lower half of each byte first.
const std::string kSigned = "\x98\xba\xdc\xfe\x10\x32";

TEST(FourBits, AreReadTheLowerHalfFirst) {
  const Graph graph = load(product(kInt4, kSigned, std::string("\xf1\x02", 2)));
  const Tensor& w = *graph.value(graph.find_value("w").value()).constant;
  EXPECT_THAT(w.values<std::int8_t>(), ElementsAre(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3));
  const Tensor& z = *graph.value(graph.find_value("z").value()).constant;
  EXPECT_THAT(z.values<std::int8_t>(), ElementsAre(1, -1, 2));
  const Graph without_sign = load(product(kUInt4, kSigned, std::string("\xf1\x02", 2)));
  const Tensor& u = *without_sign.value(without_sign.find_value("w").value()).constant;
  EXPECT_THAT(u.values<std::uint8_t>(), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3));
}

TEST(FourBits, TypedFieldsHoldTheSameBytes) {
  onnx::ModelProto model = product(kInt4, kSigned, std::string("\xf1\x02", 2));
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  for (const char byte : w.raw_data()) w.add_int32_data(static_cast<std::uint8_t>(byte));
  w.clear_raw_data();
  const Graph graph = load(model);
  EXPECT_THAT(graph.value(graph.find_value("w").value()).constant->values<std::int8_t>(),
              ElementsAre(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3));
}

// If the input of the product is quantized, the product runs on integers.
TEST(FourBits, RunOnTheIntegerKernels) {
  for (const std::int32_t type : {kInt4, kUInt4}) {
    onnx::ModelProto model = product(type, kSigned, std::string("\xf1\x02", 2));
    onnx::GraphProto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_proto("xs", {}, {0.02F});
    *graph.add_initializer() = byte("xz", 110);
    *graph.add_node() = node_proto("QuantizeLinear", {"x", "xs", "xz"}, {"xq"});
    *graph.add_node() = node_proto("DequantizeLinear", {"xq", "xs", "xz"}, {"xr"});
    graph.mutable_node(1)->set_input(0, "xr");
    const Executor executor(prepare(load(model)));
    const auto integer = executor.compile({});
    bool on_integers = false;
    for (const StepInfo& step : integer->steps()) {
      on_integers = on_integers || (step.op_type == "MatMul" && step.integer);
    }
    EXPECT_TRUE(on_integers);
    const auto reference = executor.compile({}, {.lowering = Lowering::kReference});
    const Tensor x = random_floats({2, 4}, 3, -2.0F, 2.0F);
    const std::vector<TensorView> inputs{x};
    Workspace a;
    Workspace b;
    const auto fast = integer->run(inputs, a)[0].values<float>();
    const auto slow = reference->run(inputs, b)[0].values<float>();
    for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], slow[i], 1e-5F);
  }
}

TEST(FourBits, InBlocksBecomeReals) {
  onnx::ModelProto model = product(kInt4, kSigned, std::string("\xf1\x02\x00", 3));
  onnx::GraphProto& graph = *model.mutable_graph();
  *graph.mutable_initializer(1) = float_proto("s", {2, 3}, {1, 2, 4, 0.5F, 0.25F, 0.125F});
  graph.mutable_initializer(2)->clear_dims();
  for (const std::int64_t dim : {2, 3}) graph.mutable_initializer(2)->add_dims(dim);
  onnx::NodeProto& node = *graph.mutable_node(0);
  node.mutable_attribute(0)->set_i(0);
  onnx::AttributeProto& size = *node.add_attribute();
  size.set_name("block_size");
  size.set_type(onnx::AttributeProto::INT);
  size.set_i(2);
  const Graph prepared = prepare(load(model));
  const auto plan = Executor(prepared).compile({});
  const Tensor x = Tensor::of<float>({2, 4}, {1, 0, 0, 0, 0, 0, 0, 1});
  const std::vector<TensorView> inputs{x};
  Workspace workspace;
  // The zero points are 1, -1, 2 and 0, 0, 0.
  EXPECT_THAT(plan->run(inputs, workspace)[0].values<float>(),
              ElementsAre(-9, -12, -32, 0.5F, 0.5F, 0.375F));
  node.mutable_attribute(1)->set_i(3);
  EXPECT_EQ(four_bit_refusal(model), "");  // blocks of 3 and 1 inputs
  node.mutable_attribute(1)->set_i(1);
  EXPECT_THAT(four_bit_refusal(model), HasSubstr("expected float32 of [4, 3]"));
  node.mutable_attribute(1)->set_i(-2);
  EXPECT_THAT(four_bit_refusal(model), HasSubstr("'block_size' is negative"));
}

/// The initializer with this name in a saved model that protobuf has read.
const onnx::TensorProto& initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  ADD_FAILURE() << "no initializer " << name;
  return model.graph().initializer(0);
}

TEST(FourBits, StaySoWhenTheModelIsWritten) {
  for (const std::int32_t type : {kInt4, kUInt4}) {
    const onnx::ModelProto given = product(type, kSigned, std::string("\xf1\x02", 2));
    const Graph loaded = load(given);
    for (const Graph& graph : {loaded, prepare(loaded)}) {
      const onnx::ModelProto model = saved(graph);
      EXPECT_EQ(model.ir_version(), 10);
      EXPECT_EQ(model.opset_import(0).version(), 21);
      EXPECT_EQ(initializer(model, "w").data_type(), type);
      EXPECT_EQ(initializer(model, "w").raw_data(), kSigned);
      EXPECT_EQ(initializer(model, "z").data_type(), type);
      EXPECT_EQ(initializer(model, "z").raw_data(), std::string("\xf1\x02", 2));
      const onnx::NodeProto& node = model.graph().node(0);
      ASSERT_EQ(node.attribute_size(), 1);
      EXPECT_EQ(node.attribute(0).name(), "axis");
      EXPECT_EQ(saved(load(model)).SerializeAsString(), model.SerializeAsString());
    }
  }
}

TEST(FourBits, MayLieInNodesConstant) {
  onnx::ModelProto given = product(kInt4, kSigned, std::string("\xf1\x02", 2));
  onnx::GraphProto& graph = *given.mutable_graph();
  onnx::NodeProto constant = node_proto("Constant", {}, {"w"});
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = graph.initializer(0);
  graph.mutable_initializer()->DeleteSubrange(0, 1);
  const auto nodes = graph.node();
  graph.clear_node();
  *graph.add_node() = constant;
  for (const onnx::NodeProto& node : nodes) *graph.add_node() = node;
  const Graph loaded = load(given);
  const onnx::TensorProto kept = saved(loaded).graph().node(0).attribute(0).t();
  EXPECT_EQ(kept.data_type(), kInt4);
  EXPECT_EQ(kept.raw_data(), kSigned);
  const onnx::ModelProto prepared = saved(prepare(loaded));
  EXPECT_EQ(initializer(prepared, "w").data_type(), kInt4);
  EXPECT_EQ(initializer(prepared, "w").raw_data(), kSigned);
  *given.mutable_graph()->mutable_node(1) = node_proto("Cast", {"w"}, {"real"});
  EXPECT_THAT(four_bit_refusal(given), HasSubstr("'w': has integers of 4 bits, read by"));
}

// If a pass makes integers larger than 4 bits can hold, they and the zero points of their node
// become 8-bit.
TEST(FourBits, BecomeEightWhereTheyNoLongerFit) {
  const Graph graph = prepare(load(product(kInt4, kSigned, std::string("\xf1\x02", 2))));
  Graph larger = graph;
  Tensor w = graph.value(graph.find_value("w").value()).constant->clone();
  w.values<std::int8_t>()[0] = -9;
  for (const NodeId id : larger.nodes()) {
    if (!larger.node(id).is("DequantizeLinear")) continue;
    larger.set_input(id, 0, larger.add_constant("larger", std::move(w)));
    break;
  }
  const onnx::ModelProto model = saved(larger);
  EXPECT_EQ(initializer(model, "larger").data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(initializer(model, "z").data_type(), onnx::TensorProto::INT8);
}

TEST(FourBits, AreRefusedWhereTheyWouldBeTakenForEight) {
  onnx::ModelProto model = product(kUInt4, kSigned, std::string("\xf1\x02", 2));
  *model.mutable_graph()->mutable_node(0) = node_proto("Cast", {"w"}, {"real"});
  EXPECT_THAT(four_bit_refusal(model), HasSubstr("'w': has integers of 4 bits, read by"));
  onnx::ModelProto short_one = product(kInt4, "\x12", std::string("\xf1\x02", 2));
  EXPECT_THAT(four_bit_refusal(short_one), HasSubstr("found 1 bytes, expected 6"));
}

}  // namespace
}  // namespace qtool
