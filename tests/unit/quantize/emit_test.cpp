#include <gmock/gmock.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <map>

#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using Ranges = std::map<std::string, Range, std::less<>>;

/// Quantizes with given ranges; a tensor that is not listed spans [0, 1].
Quantized quantized_in(const Net& net, const Ranges& ranges = {}) {
  const Target& target = find_target("cpu");
  CalibrationTable table;
  for (const std::string& tensor : tensors_to_calibrate(net.graph, target)) {
    const auto known = ranges.find(tensor);
    ActivationEntry& entry = table.activations.emplace_back();
    entry.tensor = tensor;
    entry.range = known == ranges.end() ? Range{0.0F, 1.0F} : known->second;
    entry.affine = choose_affine(entry.range, target.activations);
  }
  StaticOptions options;
  options.bias_correction = BiasCorrection::kOff;
  return quantize(net.graph, table, options);
}

float scale_of(const Graph& graph, const std::string& tensor) {
  const NodeId producer = graph.value(graph.find_value(tensor).value()).producer;
  return graph.value(graph.node(producer).inputs[1]).constant->values<float>()[0];
}

void expect_valid_onnx(const Graph& graph) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(save_onnx_bytes(graph)));
  EXPECT_NO_THROW(onnx::checker::check_model(model));
}

TEST(EmitQdq, GivesATensorOnePairHoweverManyReadIt) {
  Net net;
  const auto r = net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  const auto sum = net.op("Add", "add", {net.conv("c2", r), net.op("Tanh", "tanh", {r})});
  net.output(net.conv("c3", sum));
  const Quantized q = quantized_in(net);
  // There are pairs for x, r1_out, c2_out, tanh_out and add_out.
  EXPECT_EQ(count_ops(q.graph, "QuantizeLinear"), 5U);
  EXPECT_EQ(q.report.quantized_tensors, 5);
  const ValueId shared = q.graph.find_value("r1_out_dq").value();
  EXPECT_EQ(q.graph.consumers(shared).size(), 2U);  // the convolution and the FP32 Tanh
  EXPECT_EQ(q.graph.consumers(q.graph.find_value("r1_out").value()).size(), 1U);
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, KeepsTheNamesOfNodesTensorsInputsAndOutputs) {
  Net net;
  net.output(net.conv("c2", net.conv("c1", net.input("x", {1, 2, 4, 4}))));
  const Quantized q = quantized_in(net);
  EXPECT_EQ(q.graph.value(q.graph.inputs()[0]).name, "x");
  EXPECT_EQ(q.graph.value(q.graph.outputs()[0]).name, "c2_out");
  const Node& c1 = q.graph.node(node_named(q.graph, "c1"));
  EXPECT_EQ(q.graph.value(c1.outputs[0]).name, "c1_out");
  EXPECT_EQ(q.graph.value(c1.inputs[0]).name, "x_dq");
  EXPECT_EQ(q.graph.value(q.graph.node(node_named(q.graph, "c2")).inputs[0]).name, "c1_out_dq");
}

TEST(EmitQdq, StoresWeightsAsInt8PerChannelAndBiasesAsInt32) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  const Quantized q = quantized_in(net, {{"x", {-1.0F, 1.55F}}});
  const auto constant = [&](const char* name) {
    return q.graph.value(q.graph.find_value(name).value()).constant;
  };
  EXPECT_EQ(constant("c1_w_q")->dtype(), DType::kInt8);
  EXPECT_EQ(constant("c1_b_q")->dtype(), DType::kInt32);
  const auto weight_scales = constant("c1_w_s")->values<float>();
  const auto bias_scale = constant("c1_b_s")->values<float>();
  ASSERT_EQ(weight_scales.size(), 2U);
  const float input_scale = scale_of(q.graph, "x_q");
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(bias_scale[c], input_scale * weight_scales[c]);
    const float bias = net.graph.value(net.id("c1_b")).constant->values<float>()[c];
    EXPECT_NEAR(bias_scale[c] * static_cast<float>(constant("c1_b_q")->values<std::int32_t>()[c]),
                bias, 0.51F * bias_scale[c]);
  }
  const NodeId weight_node = q.graph.value(q.graph.find_value("c1_w_dq").value()).producer;
  EXPECT_EQ(q.graph.node(weight_node).get_int("axis", -1), 0);
  EXPECT_EQ(q.report.weight_bytes, 4);
  EXPECT_EQ(q.report.output_channels, 2);
  EXPECT_TRUE(q.graph.consumers(q.graph.find_value("c1_w").value()).empty());
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, FoldsAlphaAndBetaOfAGemmIntoItsIntegers) {
  Net net;
  net.constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  net.constant("c", Tensor::of<float>({1, 2}, {1, -1}));
  net.output(
      net.op("Gemm", "fc", {net.input("x", {1, 2}), "w", "c"}, {{"alpha", 0.5F}, {"beta", 3.0F}}));
  const Quantized q = quantized_in(net);
  const Node& fc = q.graph.node(node_named(q.graph, "fc"));
  EXPECT_FALSE(fc.has("alpha"));
  EXPECT_FALSE(fc.has("beta"));
  const auto scales = q.graph.value(q.graph.find_value("w_s").value()).constant;
  EXPECT_FLOAT_EQ(scales->values<float>()[0], 1.5F / 127);
  const auto bias = q.graph.value(q.graph.find_value("c_q").value()).constant;
  const auto bias_scale = q.graph.value(q.graph.find_value("c_s").value()).constant;
  EXPECT_NEAR(static_cast<float>(bias->values<std::int32_t>()[1]) * bias_scale->values<float>()[1],
              -3.0F, 1e-3F);
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, SharesAWeightThatSeveralNodesReadAtOneScale) {
  Net net;
  const auto x = net.input("x", {1, 2});
  net.constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  net.output(net.op("MatMul", "m1", {x, "w"}));
  net.output(net.op("MatMul", "m2", {net.op("Tanh", "tanh", {x}), "w"}));
  const Quantized q = quantized_in(net);
  EXPECT_EQ(q.graph.consumers(q.graph.find_value("w_dq").value()).size(), 2U);
  EXPECT_EQ(q.report.weight_bytes, 4);
}

TEST(EmitQdq, StoresConstantOperandsAsU8) {
  Net net;
  net.constant("k", Tensor::of<float>({1, 2, 1, 1}, {-0.5F, 2.0F}));
  const auto product = net.op("Mul", "mul", {net.conv("c1", net.input("x", {1, 2, 4, 4})), "k"});
  net.output(net.conv("c2", product));
  const Quantized q = quantized_in(net);
  const auto integers = q.graph.value(q.graph.find_value("k_q").value()).constant;
  const Affine affine = choose_affine({-0.5F, 2.0F}, find_target("cpu").activations);
  EXPECT_THAT(integers->values<std::uint8_t>(), testing::ElementsAre(0, 255));
  EXPECT_EQ(scale_of(q.graph, "k_dq"), affine.scale);
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, PassingNodesHaveEqualMapsOnBothSides) {
  Net net;
  net.constant("shape", Tensor::of<std::int64_t>({2}, {1, 32}));
  net.constant("w", Tensor(DType::kFloat32, Shape{32, 1}));
  const auto r =
      net.op("Reshape", "reshape", {net.conv("c1", net.input("x", {1, 2, 4, 4})), "shape"});
  net.output(net.op("MatMul", "fc", {r, "w"}));
  const Quantized q =
      quantized_in(net, {{"c1_out", {-3.0F, 5.0F}}, {"reshape_out", {-1.0F, 1.0F}}});
  EXPECT_EQ(scale_of(q.graph, "reshape_out_q"), scale_of(q.graph, "c1_out_q"));
  expect_valid_onnx(q.graph);
}

Net concat_net() {
  Net net;
  const auto x = net.input("x", {1, 2, 4, 4});
  const auto a = net.op("Relu", "ra", {net.conv("a", x)});
  const auto b = net.op("MaxPool", "pool", {net.op("Relu", "rb", {net.conv("b", x)})},
                        {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
  const auto joined = net.op("Concat", "joined", {a, b}, {{"axis", std::int64_t{1}}});
  net.output(net.conv("c", joined, 4));
  return net;
}

TEST(EmitQdq, AlignsAConcatWhoseRangesAreWithinOneBit) {
  const Quantized q = quantized_in(
      concat_net(), {{"ra_out", {0, 4}}, {"rb_out", {0, 2}}, {"joined_out", {0, 3.5F}}});
  EXPECT_TRUE(q.report.unequal_concats.empty());
  for (const char* tensor : {"ra_out_q", "rb_out_q", "pool_out_q", "joined_out_q"}) {
    EXPECT_EQ(scale_of(q.graph, tensor), 4.0F / 255) << tensor;
  }
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, KeepsAndReportsAConcatWhoseRangesDifferByMoreThanOneBit) {
  const Quantized q = quantized_in(
      concat_net(), {{"ra_out", {0, 4}}, {"rb_out", {0, 1.9F}}, {"joined_out", {0, 3.5F}}});
  ASSERT_EQ(q.report.unequal_concats.size(), 1U);
  EXPECT_EQ(q.report.unequal_concats[0].node, "joined");
  EXPECT_THAT(q.report.unequal_concats[0].operands, testing::ElementsAre("ra_out", "pool_out"));
  EXPECT_THAT(q.report.unequal_concats[0].scales, testing::ElementsAre(4.0F / 255, 1.9F / 255));
  EXPECT_NEAR(q.report.unequal_concats[0].smallest_share, 1.9 / 4, 1e-6);
  EXPECT_EQ(scale_of(q.graph, "joined_out_q"), 3.5F / 255);
}

TEST(EmitQdq, AGraphOutputThatIntegerNodesReadKeepsItsName) {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(c);
  net.output(net.conv("c2", c));
  const Quantized q = quantized_in(net);
  const ValueId out = q.graph.outputs()[0];
  EXPECT_EQ(q.graph.value(out).name, "c1_out");
  EXPECT_EQ(q.graph.node(q.graph.value(out).producer).op_type, "DequantizeLinear");
  expect_valid_onnx(q.graph);
}

TEST(EmitQdq, AvoidsNamesTheModelAlreadyUses) {
  Net net;
  net.constant("x_q", Tensor::scalar<float>(1.0F));
  net.constant("scale", Tensor::scalar<float>(1.0F));
  net.output(net.conv("c1", net.op("Div", "div", {net.input("x", {1, 2, 4, 4}), "x_q"})));
  EXPECT_NO_THROW(quantized_in(net).graph.check());
}

}  // namespace
}  // namespace qtool
