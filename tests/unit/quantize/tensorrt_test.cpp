#include <gmock/gmock.h>

#include <bit>
#include <map>
#include <random>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/absent.h"
#include "support/places.h"
#include "support/random_floats.h"
#include "unit/onnx_check.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

Placement tensorrt_placement(const Net& net) { return place(net.graph, find_target("tensorrt")); }

std::vector<std::string> quantized_names(const Net& net) {
  std::vector<std::string> names;
  for (const ValueId id : tensorrt_placement(net).quantized) {
    names.push_back(net.graph.value(id).name);
  }
  return names;
}

/// A cache with one line for each computed tensor of a graph, scales all different.
std::string cache_for(const Graph& graph) {
  std::string cache = "TRT-8600-EntropyCalibration2\n";
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponent(-6.0F, -4.0F);
  for (const ValueId id : graph.living_values()) {
    if (graph.is_constant(id)) continue;
    const auto bits = std::bit_cast<std::uint32_t>(std::exp2(exponent(random)));
    cache += to_text(graph.value(id).name, ": ", to_hex(bits).substr(8), "\n");
  }
  return cache;
}

/// A cache whose scales fit the values that the network computes from `input`. With coarser scales
/// the difference at a single tie would grow from layer to layer.
std::string cache_on(const Graph& graph, const TensorView& input) {
  CompileOptions options;
  for (const ValueId id : graph.living_values()) {
    if (!graph.is_constant(id)) options.observe.push_back(graph.value(id).name);
  }
  const Executor executor(graph);
  std::string cache = "TRT-8600-EntropyCalibration2\n";
  Workspace workspace;
  executor.compile({}, options)
      ->run({&input, 1}, workspace, [&](std::size_t index, const TensorView& tensor) {
        if (tensor.dtype != DType::kFloat32) return;
        float largest = 0.0F;
        for (const float value : tensor.values<float>()) {
          largest = std::max(largest, std::abs(value));
        }
        const auto bits = std::bit_cast<std::uint32_t>(std::max(largest, 1e-3F) / 127.0F);
        cache += to_text(options.observe[index], ": ", to_hex(bits).substr(8), "\n");
      });
  return cache;
}

CalibrationTable read_cache(std::string_view bytes) {
  return find_format("tensorrt").read(bytes, {}).table;
}

/// The model for a table that has the range of `x` alone.
Quantized quantized_with_x(const Net& net) {
  StaticOptions options;
  options.target = "tensorrt";
  return quantize(net.graph, read_cache("TRT-8600-MinMaxCalibration\nx: 3c010204\n"), options);
}

TEST(TensorRtTarget, QuantizesTheShortcutOfAResidualAddAlone) {
  Net net;
  const auto r = net.op("Relu", "r", {net.conv("c0", net.input("x", {1, 2, 4, 4}))});
  const auto main = net.conv("c2", net.op("Relu", "r1", {net.conv("c1", r)}));
  const auto sum = net.op("Relu", "r2", {net.op("Add", "add", {main, r})});
  net.output(net.conv("c3", sum));
  EXPECT_THAT(quantized_names(net), UnorderedElementsAre("x", "r_out", "r1_out", "r2_out"));
}

TEST(TensorRtTarget, QuantizesOneOfTwoConvolutionsThatAreAdded) {
  Net net;
  const auto x = net.input("x", {1, 2, 4, 4});
  const auto sum = net.op("Add", "add", {net.conv("a", x), net.conv("b", x)});
  net.output(net.conv("c", sum));
  EXPECT_THAT(quantized_names(net), UnorderedElementsAre("x", "b_out", "add_out"));
}

TEST(TensorRtTarget, AsksForNoPairsAroundOperatorsThatMoveValues) {
  Net net;
  const auto pool = net.op("MaxPool", "pool", {net.conv("c1", net.input("x", {1, 2, 4, 4}))},
                           {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  net.output(net.conv("c2", pool));
  EXPECT_THAT(quantized_names(net), UnorderedElementsAre("x", "pool_out"));
  for (const NodePlacement& node : tensorrt_placement(net).nodes) {
    EXPECT_NE(node.role, NodeRole::kFloat) << net.graph.describe(node.id);
  }
}

TEST(TensorRtTarget, PutsNoPairBetweenAConvolutionAndAnActivation) {
  Net net;
  const auto act = net.op("HardSwish", "act", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  net.output(net.conv("c2", act));
  EXPECT_THAT(quantized_names(net), UnorderedElementsAre("x", "act_out"));
}

TEST(TensorRtTarget, KeepsWeightsAndBiasesRealBehindAPairPerChannel) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  const Quantized emitted = quantized_with_x(net);
  const Graph& graph = emitted.graph;
  const Node& conv = graph.node(node_named(graph, "c1"));
  const Node& dequantize = graph.node(graph.value(conv.inputs[1]).producer);
  ASSERT_EQ(dequantize.op_type, "DequantizeLinear");
  const Node& quantize_node = graph.node(graph.value(dequantize.inputs[0]).producer);
  ASSERT_EQ(quantize_node.op_type, "QuantizeLinear");
  EXPECT_EQ(graph.value(quantize_node.inputs[0]).name, "c1_w");
  EXPECT_EQ(graph.value(quantize_node.inputs[0]).constant->dtype(), DType::kFloat32);
  EXPECT_EQ(quantize_node.get_int("axis", -1), 0);
  EXPECT_EQ(dequantize.get_int("axis", -1), 0);
  for (const Node* node : {&quantize_node, &dequantize}) {
    const Tensor& zeros = *graph.value(node->inputs[2]).constant;
    EXPECT_EQ(zeros.dtype(), DType::kInt8);
    EXPECT_THAT(zeros.values<std::int8_t>(), testing::ElementsAre(0, 0));
  }
  EXPECT_EQ(graph.value(conv.inputs[2]).name, "c1_b");
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(graph)), "");
}

// TensorRT takes no scales per output channel for a ConvTranspose.
TEST(TensorRtTarget, GivesTheWeightsOfAConvTransposeOneScale) {
  Net net;
  net.input("x", {1, 2, 4, 4});
  net.constant("up_w", random_floats({2, 3, 2, 2}, 1));
  net.output(
      net.op("ConvTranspose", "up", {"x", "up_w"}, {{"strides", std::vector<std::int64_t>{2, 2}}}));
  const Quantized emitted = quantized_with_x(net);
  const Graph& graph = emitted.graph;
  const Node& up = graph.node(node_named(graph, "up"));
  for (const std::size_t input : {0U, 1U}) {
    const Node& dequantize = graph.node(graph.value(up.inputs[input]).producer);
    ASSERT_EQ(dequantize.op_type, "DequantizeLinear");
    EXPECT_EQ(graph.value(dequantize.inputs[1]).constant->elements(), 1);
  }
  EXPECT_EQ(emitted.report.find("up")->role, NodeRole::kInteger);
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(graph)), "");
}

TEST(TensorRtTarget, GivesTheInputsOfAConcatTheWidestScale) {
  Net net;
  const auto x = net.input("x", {1, 2, 4, 4});
  const auto joined =
      net.op("Concat", "joined", {net.conv("a", x), net.conv("b", x)}, {{"axis", std::int64_t{1}}});
  net.output(net.conv("c", joined, 4));
  StaticOptions options;
  options.target = "tensorrt";
  // The scales 1/127, 100/127 and 3/127: far more than one bit apart.
  const Quantized emitted =
      quantize(net.graph,
               read_cache("TRT-8600-MinMaxCalibration\nx: 3c010204\n"
                          "a_out: 3c010204\nb_out: 3f499326\njoined_out: 3cc18306\n"),
               options);
  const Graph& graph = emitted.graph;
  const QuantizeReport& report = emitted.report;
  EXPECT_TRUE(report.unequal_concats.empty());
  for (const char* name : {"a_out_q", "b_out_q", "joined_out_q"}) {
    const Node& node = graph.node(graph.value(graph.find_value(name).value()).producer);
    EXPECT_EQ(
        std::bit_cast<std::uint32_t>(graph.value(node.inputs[1]).constant->values<float>()[0]),
        0x3f499326U)
        << name;
  }
}

TEST(TensorRtTarget, OneLayerComputesWhatTheSpecificationSays) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  StaticOptions options;
  options.target = "tensorrt";
  const CalibrationTable table = read_cache("TRT-8600-MinMaxCalibration\nx: 3c010204\n");
  const Executor executor(quantize(net.graph, table, options).graph);
  CompileOptions reference;
  reference.lowering = Lowering::kReference;
  Tensor input(DType::kFloat32, Shape{1, 2, 4, 4});
  float next = -1.2F;  // beyond the range at both ends
  for (float& v : input.values<float>()) v = next += 0.077F;
  const TensorView view = input;
  const auto plan = executor.compile({});
  EXPECT_EQ(coverage_of(*plan).integer_macs, coverage_of(*plan).macs);
  Workspace a;
  Workspace b;
  const auto fast = plan->run({&view, 1}, a)[0].values<float>();
  const auto slow = executor.compile({}, reference)->run({&view, 1}, b)[0].values<float>();
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], slow[i], 2e-4F);
}

/// The bits of the scale with which each activation is quantized, by tensor.
std::map<std::string, std::uint32_t> activation_bits(const Graph& graph) {
  std::map<std::string, std::uint32_t> bits;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("QuantizeLinear") || graph.is_constant(node.inputs[0])) continue;
    const float scale = graph.value(node.inputs[1]).constant->values<float>()[0];
    bits[graph.value(node.inputs[0]).name] = std::bit_cast<std::uint32_t>(scale);
    EXPECT_EQ(graph.value(node.inputs[2]).constant->values<std::int8_t>()[0], 0);
  }
  return bits;
}

class TensorRtNetwork : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam())) GTEST_SKIP() << absent(GetParam());
  }
};

TEST_P(TensorRtNetwork, HasTheScalesOfItsCacheBitForBitAndRunsOnIntegers) {
  const Graph graph = prepare(load_onnx(GetParam()));
  const std::string cache = cache_for(graph);
  const CalibrationTable table = read_cache(cache);
  StaticOptions options;
  options.target = "tensorrt";
  const Quantized emitted = quantize(graph, table, options);
  const Graph& quantized = emitted.graph;
  const QuantizeReport& report = emitted.report;
  const auto bits = activation_bits(quantized);
  EXPECT_EQ(static_cast<std::int64_t>(bits.size()), report.quantized_tensors);
  EXPECT_GE(bits.size(), 10U);
  // Tensors that meet in a Concat share the widest scale among them; all others have their own.
  std::map<std::string, std::uint32_t> shared;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("Concat")) continue;
    std::uint32_t widest = 0;
    for (const ValueId input : node.inputs) {
      const float scale = table.find(graph.value(input).name)->affine.scale;
      widest = std::max(widest, std::bit_cast<std::uint32_t>(scale));
    }
    for (const ValueId input : node.inputs) shared[graph.value(input).name] = widest;
    shared[graph.value(node.outputs[0]).name] = widest;
  }
  for (const auto& [tensor, found] : bits) {
    const auto group = shared.find(tensor);
    const std::uint32_t expected =
        group != shared.end() ? group->second
                              : std::bit_cast<std::uint32_t>(table.find(tensor)->affine.scale);
    EXPECT_EQ(found, expected) << tensor;
    EXPECT_THAT(cache, HasSubstr(": " + to_hex(found).substr(8)));
  }
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(quantized)), "");
  EXPECT_FALSE(quantized.info.metadata.contains("qtool.preprocess"));
  EXPECT_EQ(quantized.info.metadata.at("qtool.method"), "TRT-8600-EntropyCalibration2");

  const Executor executor(prepare(load_onnx_bytes(save_onnx_bytes(quantized), ".", "quantized")));
  const Coverage coverage = coverage_of(*executor.compile({}));
  EXPECT_EQ(coverage.integer_macs, coverage.macs) << coverage_line(coverage, report);
}

TEST_P(TensorRtNetwork, ComputesInIntegersWhatTheSpecificationSays) {
  const Graph graph = prepare(load_onnx(GetParam()));
  Tensor input(DType::kFloat32, Executor(graph).compile({})->inputs()[0].shape);
  std::mt19937 random(3);
  std::normal_distribution<float> values;
  for (float& v : input.values<float>()) v = values(random);
  const TensorView view = input;
  StaticOptions options;
  options.target = "tensorrt";
  const Executor executor(quantize(graph, read_cache(cache_on(graph, view)), options).graph);
  CompileOptions reference;
  reference.lowering = Lowering::kReference;
  const auto plan = executor.compile({});
  const auto slow = executor.compile({}, reference);
  Workspace a;
  Workspace b;
  const auto fast_out = plan->run({&view, 1}, a)[0].values<float>();
  const auto slow_out = slow->run({&view, 1}, b)[0].values<float>();
  double signal = 0.0;
  double noise = 1e-30;
  for (std::size_t i = 0; i < fast_out.size(); ++i) {
    signal += double{slow_out[i]} * slow_out[i];
    noise += (double{slow_out[i]} - fast_out[i]) * (double{slow_out[i]} - fast_out[i]);
  }
  // A sum at a rounding tie may be rounded either way, and later layers propagate the difference:
  // 28 dB after thirty layers. A layer that computed something wrong would leave less than 10.
  EXPECT_GT(10.0 * std::log10(signal / noise), 25.0);
}

INSTANTIATE_TEST_SUITE_P(Networks, TensorRtNetwork,
                         testing::Values(std::string(kSourceFolder) + "/data/signs_resnet.onnx",
                                         std::string(kSourceFolder) + "/data/signs_mobilenet.onnx",
                                         std::string(kSharedData) + "/models/squeezenet1.1.onnx"));

TEST(ForeignTable, LeavesLayersWithoutAScaleInFp32AndNamesThem) {
  Net net;
  net.output(net.conv("c2", net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))})));
  StaticOptions options;
  options.target = "tensorrt";
  const Quantized emitted =
      quantize(net.graph, read_cache("TRT-8600-MinMaxCalibration\nx: 3c010204\n"), options);
  const QuantizeReport& report = emitted.report;
  EXPECT_EQ(report.find("c1")->role, NodeRole::kInteger);
  EXPECT_EQ(report.find("c2")->reason, "the table has no range for its input 'r1_out'");
}

TEST(ForeignTable, IsRefusedWithTheNearestNamesWhenTheModelLacksATensor) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  CalibrationTable table = read_cache("TRT-8600-MinMaxCalibration\nc1_oud: 3c010204\n");
  try {
    require_known_tensors(table, net.graph, net.graph);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    EXPECT_THAT(error.what(),
                HasSubstr("'c1_oud' is not a tensor of the model; did you mean 'c1_out'"));
  }
  table.activations[0].tensor = "(Unnamed Layer* 7) [Convolution]_output";
  EXPECT_NO_THROW(require_known_tensors(table, net.graph, net.graph));
}

TEST(ForeignTable, OneScaleOfAWeightServesAllItsChannels) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  CalibrationTable table = read_cache("TRT-8600-MinMaxCalibration\nx: 3c010204\n");
  table.weights.push_back({"c1_w", "", {{0.5F}, {}, -1}});
  const Quantized emitted = quantize(net.graph, table);
  const Graph& graph = emitted.graph;
  EXPECT_THAT(graph.value(graph.find_value("c1_w_s").value()).constant->values<float>(),
              testing::ElementsAre(0.5F, 0.5F));
}

}  // namespace
}  // namespace qtool
