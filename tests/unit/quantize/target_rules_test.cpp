// Checks that models from quantize() follow the documentation of back-ends that are not available
// here. Each test names the page that it follows.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "unit/quantize_net.h"
#include "unit/table_with.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;
using TensorRanges = std::map<std::string, Range>;

Quantized quantized_for(std::string_view target_name, const Net& net,
                        const TensorRanges& ranges = {}) {
  const Target& target = find_target(target_name);
  const Graph prepared = prepare(net.graph);
  const CalibrationTable table = table_with(prepared, target, ranges);
  StaticOptions options;
  options.target = target_name;
  return quantize(prepared, table, options);
}

const Tensor& constant_of(const Graph& graph, ValueId id) { return *graph.value(id).constant; }

/// The DequantizeLinear whose result is `value`, or the QuantizeLinear that reads it.
const Node& quantizer(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer != kNoNode && graph.node(producer).is("DequantizeLinear")) {
    return graph.node(producer);
  }
  const Node& reader = graph.node(graph.consumers(value).at(0));
  EXPECT_TRUE(reader.is("QuantizeLinear")) << reader.op_type;
  return reader;
}

Affine affine_at(const Graph& graph, ValueId value) {
  const Node& node = quantizer(graph, value);
  const Tensor& zero = constant_of(graph, node.inputs[2]);
  const std::int32_t point =
      zero.dtype() == DType::kInt8 ? zero.values<std::int8_t>()[0] : zero.values<std::uint8_t>()[0];
  EXPECT_EQ(constant_of(graph, node.inputs[1]).elements(), 1);  // per tensor
  return {constant_of(graph, node.inputs[1]).values<float>()[0], point};
}

Affine input_of(const Graph& graph, std::string_view node, std::size_t index = 0) {
  return affine_at(graph, graph.node(node_named(graph, node)).inputs[index]);
}
Affine result_of(const Graph& graph, std::string_view node) {
  return affine_at(graph, graph.node(node_named(graph, node)).outputs[0]);
}

DType type_at(const Graph& graph, ValueId value) {
  return constant_of(graph, quantizer(graph, value).inputs[2]).dtype();
}

/// Checks that the weights are s8 in [-127, 127] and have `scales` scales, and that their zero
/// points are 0 or absent.
void expect_symmetric_weights(const Graph& graph, std::string_view node, std::int64_t scales) {
  const Node& dequantize = quantizer(graph, graph.node(node_named(graph, node)).inputs[1]);
  const auto integers = constant_of(graph, dequantize.inputs[0]).values<std::int8_t>();
  EXPECT_GE(*std::min_element(integers.begin(), integers.end()), -127);
  EXPECT_EQ(constant_of(graph, dequantize.inputs[1]).elements(), scales);
  if (dequantize.has_input(2)) {
    for (const std::int8_t zero : constant_of(graph, dequantize.inputs[2]).values<std::int8_t>()) {
      EXPECT_EQ(zero, 0);
    }
  }
}

/// Checks that the bias is s32 and has the scale of the sums, one for each scale of the weights.
void expect_bias_of_sums(const Graph& graph, std::string_view name) {
  const Node& node = graph.node(node_named(graph, name));
  const Node& bias = quantizer(graph, node.inputs[2]);
  const auto weights =
      constant_of(graph, quantizer(graph, node.inputs[1]).inputs[1]).values<float>();
  const auto scales = constant_of(graph, bias.inputs[1]).values<float>();
  EXPECT_EQ(constant_of(graph, bias.inputs[0]).dtype(), DType::kInt32);
  EXPECT_FALSE(bias.has_input(2));
  const float input = input_of(graph, name).scale;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    EXPECT_EQ(scales[i], input * weights[weights.size() == 1 ? 0 : i]);
  }
}

Tensor sawtooth(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  float next = -0.5F;
  for (float& value : tensor.values<float>()) value = next = next > 0.5F ? -0.5F : next + 0.03F;
  return tensor;
}

// Source: TensorFlow Lite 8-bit quantization specification, CONV_2D: activations int8 in
// [-128, 127] per tensor, weights int8 in [-127, 127] per axis with zero point 0, bias int32 of
// input0_scale * input1_scale[...].
TEST(TfliteLike, QuantizesConvolutionsAsTheSpecificationSays) {
  Net net;
  net.output(net.conv("c2", net.conv("c1", net.input("x", {1, 2, 4, 4}))));
  const Quantized made = quantized_for("tflite-like", net, {{"x", {-0.5F, 1.5F}}});
  const Graph& graph = made.graph;
  for (const char* name : {"c1", "c2"}) {
    expect_symmetric_weights(graph, name, 2);
    expect_bias_of_sums(graph, name);
    EXPECT_EQ(type_at(graph, graph.node(node_named(graph, name)).inputs[0]), DType::kInt8);
  }
  EXPECT_EQ(input_of(graph, "c1"),
            choose_affine({-0.5F, 1.5F}, {DType::kInt8, 8, Symmetry::kAsymmetric}));
  EXPECT_NE(input_of(graph, "c1").zero_point, 0);  // asymmetric
}

// TensorFlow Lite 8-bit quantization specification, FULLY_CONNECTED: weights per tensor.
TEST(TfliteLike, GivesMatrixProductsOneScaleForTheirWeights) {
  Net net;
  net.constant("m", sawtooth({8, 400}));
  net.constant("b", sawtooth({400}));
  net.output(net.op("Gemm", "fc", {net.input("x", {1, 8}), "m", "b"}));
  const Quantized made = quantized_for("tflite-like", net);
  expect_symmetric_weights(made.graph, "fc", 1);
  expect_bias_of_sums(made.graph, "fc");
}

// TensorFlow Lite 8-bit quantization specification, AVERAGE_POOL_2D, MAX_POOL_2D, RESHAPE,
// TRANSPOSE, PAD, RESIZE: input and output have one scale and zero point. MEAN has no such rule.
TEST(TfliteLike, KeepsScaleAndZeroPointWhereTheSpecificationSays) {
  Net net;
  net.constant("pads", Tensor::of<std::int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}));
  std::string y = net.conv("c1", net.input("x", {1, 2, 8, 8}));
  y = net.op("AveragePool", "average", {y},
             {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  y = net.op("MaxPool", "largest", {y}, {{"kernel_shape", Ints{2, 2}}});
  y = net.op("Transpose", "turn", {y}, {{"perm", Ints{0, 1, 3, 2}}});
  y = net.op("Pad", "pad", {y, "pads"});
  y = net.op("GlobalAveragePool", "mean", {net.conv("c2", y)});
  net.output(net.conv("c3", y));
  const Quantized made = quantized_for(
      "tflite-like", net, {{"average_out", {-0.2F, 0.3F}}, {"mean_out", {-0.1F, 0.1F}}});
  const Affine kept = input_of(made.graph, "average");
  for (const char* node : {"average", "largest", "turn", "pad"}) {
    EXPECT_EQ(input_of(made.graph, node), kept) << node;
    EXPECT_EQ(result_of(made.graph, node), kept) << node;
  }
  EXPECT_NE(result_of(made.graph, "mean"), input_of(made.graph, "mean"));
}

// A result that no node reads as integers stays in FP32: it has no range, and needs none.
TEST(TfliteLike, AveragesIntoFloatsWhereNothingReadsIntegers) {
  Net net;
  const std::string y = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(net.op("AveragePool", "average", {y}, {{"kernel_shape", Ints{2, 2}}}));
  const Quantized made = quantized_for("tflite-like", net);
  EXPECT_EQ(result_of(made.graph, "c1"), input_of(made.graph, "average"));
  EXPECT_TRUE(made.graph.is_output(made.graph.node(node_named(made.graph, "average")).outputs[0]));
}

// TensorFlow Lite 8-bit quantization specification, CONCATENATION: all inputs and the output have
// one scale and zero point, no matter how much their ranges differ.
TEST(TfliteLike, GivesAllOperandsOfAConcatTheScaleOfItsResult) {
  Net net;
  const std::string x = net.input("x", {1, 2, 4, 4});
  const std::string both =
      net.op("Concat", "join", {net.conv("c1", x), net.conv("c2", x)}, {{"axis", std::int64_t{1}}});
  net.output(net.conv("c3", both, 4));
  const Quantized made =
      quantized_for("tflite-like", net, {{"c1_out", {-100.0F, 1.0F}}, {"c2_out", {-0.1F, 0.1F}}});
  EXPECT_TRUE(made.report.unequal_concats.empty());
  const Affine result = result_of(made.graph, "join");
  EXPECT_EQ(input_of(made.graph, "join", 0), result);
  EXPECT_EQ(input_of(made.graph, "join", 1), result);
}

// TensorFlow Lite 8-bit quantization specification, LOGISTIC: (1 / 256, -128), and TANH: (1 / 128,
// 0).
TEST(TfliteLike, GivesSigmoidAndTanhThePrescribedScales) {
  Net net;
  const std::string x = net.input("x", {1, 2, 4, 4});
  const std::string gate = net.op("Sigmoid", "gate", {net.conv("c1", x)});
  const std::string bent = net.op("Tanh", "bent", {net.conv("c2", x)});
  net.output(net.conv("c3", net.op("Mul", "mul", {gate, bent})));
  const Quantized made = quantized_for("tflite-like", net, {{"gate_out", {0.0F, 0.7F}}});
  EXPECT_EQ(result_of(made.graph, "gate"), (Affine{1.0F / 256, -128}));
  EXPECT_EQ(result_of(made.graph, "bent"), (Affine{1.0F / 128, 0}));
}

// The result of this Sigmoid is an operand of a Concat. It cannot have both the prescribed scale
// and the scale of the Concat.
TEST(TfliteLike, LeavesASigmoidInFp32WhoseResultSharesItsScale) {
  Net net;
  const std::string x = net.input("x", {1, 2, 4, 4});
  net.constant("shape", Tensor::of<std::int64_t>({4}, {1, 2, 4, 4}));
  const std::string gate =
      net.op("Reshape", "same", {net.op("Sigmoid", "gate", {net.conv("c1", x)}), "shape"});
  const std::string both =
      net.op("Concat", "join", {gate, net.conv("c2", x)}, {{"axis", std::int64_t{1}}});
  net.output(net.conv("c3", both, 4));
  const Quantized made = quantized_for("tflite-like", net);
  EXPECT_EQ(made.report.find("gate")->role, NodeRole::kFloat);
  EXPECT_THAT(made.report.find("gate")->reason,
              testing::HasSubstr("a Concat or an average shares"));
  EXPECT_EQ(made.report.find("join")->role, NodeRole::kInteger);
}

// Source: OpenVINO, "Low Precision IR (INT8 Inference)": every input of the operator is quantized;
// ConvolutionTransformation, "Limitations": activations have one scale for the tensor; "Quantized
// models compute and restrictions" and "Quantization Scheme": u8 activations, s8 weights per output
// channel in [-127, 127].
TEST(OpenVino, QuantizesEveryInputOfALayer) {
  Net net;
  const std::string sum =
      net.op("Add", "add", {net.conv("c1", net.input("x", {1, 2, 4, 4})), net.conv("c2", "x")});
  net.output(net.conv("c3", sum));
  const Quantized made = quantized_for("openvino", net);
  for (const char* name : {"c1", "c2", "c3"}) {
    expect_symmetric_weights(made.graph, name, 2);
    EXPECT_EQ(type_at(made.graph, made.graph.node(node_named(made.graph, name)).inputs[0]),
              DType::kUInt8);
    static_cast<void>(input_of(made.graph, name));  // expects one scale
  }
  for (const std::size_t operand : {0U, 1U}) {
    static_cast<void>(input_of(made.graph, "add", operand));
  }
}

// Source: OpenVINO, "OpenVINO Low Precision Transformations": MaxPool, Reshape, Transpose and the
// like keep the scale of their input.
TEST(OpenVino, CarriesScalesThroughWhatMovesValues) {
  Net net;
  std::string y = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  y = net.op("MaxPool", "largest", {y}, {{"kernel_shape", Ints{2, 2}}});
  net.output(net.conv("c2", net.op("Transpose", "turn", {y}, {{"perm", Ints{0, 1, 3, 2}}})));
  const Quantized made = quantized_for("openvino", net);
  for (const char* node : {"largest", "turn"}) {
    EXPECT_EQ(input_of(made.graph, node), result_of(made.graph, node)) << node;
  }
}

}  // namespace
}  // namespace qtool
