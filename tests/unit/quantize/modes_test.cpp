// The modes of quantize() that need no calibration table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/quantize_in.h"
#include "support/random_floats.h"
#include "support/signal_to_noise.h"
#include "unit/onnx_check.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

/// A convolution and a depthwise convolution that share an input, a Relu, and a Gemm with all its
/// attributes.
Net mixed_net() {
  Net net;
  net.input("x", {1, 4, 8, 8});
  net.constant("w1", random_floats({6, 4, 3, 3}, 1));
  net.constant("b1", random_floats({6}, 2));
  net.constant("w2", random_floats({4, 1, 3, 3}, 3));
  const std::vector<std::int64_t> same{1, 1, 1, 1};
  const auto a = net.op("Conv", "dense", {"x", "w1", "b1"}, {{"pads", same}});
  const auto d = net.op("Conv", "depth", {"x", "w2"}, {{"pads", same}, {"group", std::int64_t{4}}});
  const auto both =
      net.op("Relu", "relu", {net.op("Concat", "concat", {a, d}, {{"axis", std::int64_t{1}}})});
  const auto flat = net.op("Flatten", "flat", {net.op("GlobalAveragePool", "gap", {both})});
  net.constant("w3", random_floats({5, 10}, 4));
  net.constant("b3", random_floats({1, 5}, 5));
  net.output(net.op("Gemm", "gemm", {flat, "w3", "b3"},
                    {{"transB", std::int64_t{1}}, {"alpha", 0.5F}, {"beta", 2.0F}}));
  return net;
}

std::vector<float> run_prepared(const Graph& graph, const Tensor& x) {
  const Executor executor(prepare(graph));
  Workspace workspace;
  const TensorView view = x;
  const auto out = executor.compile({})->run({&view, 1}, workspace)[0].values<float>();
  return {out.begin(), out.end()};
}

Graph make(const Graph& graph, QuantizeMode mode, QuantizeReport& report,
           std::vector<std::string> exclude = {}) {
  QuantizeOptions options;
  options.exclude = std::move(exclude);
  Quantized quantized = quantize_in(mode, graph, options);
  report = std::move(quantized.report);
  return std::move(quantized.graph);
}

TEST(QuantizeMode, HasANameEach) {
  for (const auto mode :
       {QuantizeMode::kStatic, QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
    EXPECT_EQ(find_quantize_mode(name_of(mode)), mode);
  }
  EXPECT_FALSE(find_quantize_mode("float16"));
}

TEST(DynamicMode, ReplacesEveryProductByOneOnIntegers) {
  const Net net = mixed_net();
  QuantizeReport report;
  const Graph dynamic = make(net.graph, QuantizeMode::kDynamic, report);
  EXPECT_EQ(count_ops(dynamic, "ConvInteger"), 2U);
  EXPECT_EQ(count_ops(dynamic, "MatMulInteger"), 1U);
  EXPECT_EQ(count_ops(dynamic, "Conv") + count_ops(dynamic, "Gemm"), 0U);
  EXPECT_EQ(count_ops(dynamic, "DynamicQuantizeLinear"), 2U) << "x is measured once";
  EXPECT_EQ(dynamic.value(dynamic.outputs()[0]).name, net.graph.value(net.graph.outputs()[0]).name);
  EXPECT_EQ(report.weight_bytes, 6 * 4 * 9 + 4 * 9 + 50);
  EXPECT_EQ(report.nodes.size(), 3U);
  for (const NodeReport& node : report.nodes) EXPECT_EQ(node.role, NodeRole::kInteger);
  EXPECT_EQ(dynamic.info.metadata.at("qtool.mode"), "dynamic");
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(dynamic)), "");
}

TEST(DynamicMode, StaysCloseToFp32) {
  const Net net = mixed_net();
  QuantizeReport report;
  const Graph dynamic = make(net.graph, QuantizeMode::kDynamic, report);
  for (const float extent : {0.01F, 1.0F, 1000.0F}) {  // the range follows the input
    const Tensor x = random_floats({1, 4, 8, 8}, 9, -extent, extent);
    EXPECT_GT(signal_to_noise(run_prepared(net.graph, x), run_prepared(dynamic, x)), 30.0)
        << extent;
  }
  const Tensor nothing(DType::kFloat32, {1, 4, 8, 8});
  EXPECT_GT(signal_to_noise(run_prepared(net.graph, nothing), run_prepared(dynamic, nothing)),
            30.0);
}

TEST(DynamicMode, IsCountedAsIntegerWorkOnTheKernels) {
  QuantizeReport report;
  const Executor executor(prepare(make(mixed_net().graph, QuantizeMode::kDynamic, report)));
  const auto plan = executor.compile({});
  const Coverage coverage = coverage_of(*plan);
  EXPECT_EQ(coverage.integer_macs, coverage.macs);
  EXPECT_EQ(coverage.integer_convolutions, 2);
  EXPECT_EQ(coverage.integer_products, 1);
  EXPECT_EQ(coverage.macs, 64 * 6 * 36 + 64 * 4 * 9 + 50);
}

TEST(DynamicMode, LeavesExcludedNodesAndSaysSo) {
  QuantizeReport report;
  const Graph dynamic = make(mixed_net().graph, QuantizeMode::kDynamic, report, {"dense"});
  EXPECT_EQ(count_ops(dynamic, "Conv"), 1U);
  EXPECT_EQ(report.find("dense")->role, NodeRole::kFloat);
  EXPECT_EQ(report.find("dense")->reason, "excluded by --exclude");
  EXPECT_THROW(make(mixed_net().graph, QuantizeMode::kDynamic, report, {"nobody"}), Error);
}

// ONNX Runtime's ConvInteger takes images, so rows become images of one row.
TEST(DynamicMode, RunsConvolutionsOfRowsOnIntegers) {
  using Ints = std::vector<std::int64_t>;
  Net net;
  net.input("x", {2, 4, 40});
  net.constant("w1", random_floats({6, 2, 5}, 1));
  net.constant("b1", random_floats({6}, 2));
  net.constant("w2", random_floats({3, 4, 1}, 3));
  net.constant("w3", random_floats({4, 6, 3}, 4));
  const auto a = net.op("Conv", "a", {"x", "w1", "b1"},
                        {{"kernel_shape", Ints{5}},
                         {"pads", Ints{3, 1}},
                         {"strides", Ints{2}},
                         {"dilations", Ints{2}},
                         {"group", std::int64_t{2}}});
  net.output(net.op("Conv", "b", {"x", "w2"}));
  const auto c = net.op("Conv", "c", {net.op("Relu", "relu", {a}), "w3"},
                        {{"auto_pad", std::string("SAME_UPPER")}});
  net.output(c);
  const Graph graph = prepare(net.graph);
  const Quantized emitted = quantize(graph, DynamicOptions());
  const Graph& dynamic = emitted.graph;
  EXPECT_EQ(count_ops(dynamic, "ConvInteger"), 3U);
  EXPECT_EQ(count_ops(dynamic, "Conv"), 0U);
  EXPECT_EQ(count_ops(dynamic, "Unsqueeze"), 2U) << "x becomes an image once";
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(dynamic)), "");
  const Executor executor(prepare(Graph(dynamic)));
  const auto plan = executor.compile({});
  EXPECT_EQ(coverage_of(*plan).integer_macs, coverage_of(*plan).macs);
  const Tensor x = random_floats({2, 4, 40}, 9);
  const TensorView view = x;
  Workspace ours;
  Workspace theirs;
  const auto found = plan->run({&view, 1}, ours);
  const Executor fp32(graph);
  const auto real = fp32.compile({})->run({&view, 1}, theirs);
  for (std::size_t o = 0; o < 2; ++o) {
    const auto expected = real[o].values<float>();
    const auto values = found[o].values<float>();
    EXPECT_EQ(found[o].shape, real[o].shape);
    EXPECT_GT(signal_to_noise({expected.begin(), expected.end()}, {values.begin(), values.end()}),
              30.0);
  }
}

TEST(DynamicMode, RefusesAttributesThatFitNoRow) {
  for (const std::string name : {"pads", "strides", "kernel_shape"}) {
    for (const Attribute& wrong : {Attribute(std::vector<std::int64_t>{1, 1, 1}),
                                   Attribute(std::int64_t{1}), Attribute(std::string("1"))}) {
      Net net;
      net.input("x", {1, 2, 9});
      net.constant("w", random_floats({3, 2, 1}, 1));
      net.output(net.op("Conv", "conv", {"x", "w"}, {{name, wrong}}));
      try {
        static_cast<void>(quantize(net.graph, DynamicOptions()));
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidModel) << name;
      }
    }
  }
}

TEST(DynamicMode, LeavesConvolutionsOfVolumesInFp32) {
  Net net;
  net.input("x", {1, 2, 4, 4, 4});
  net.constant("w", random_floats({3, 2, 2, 2, 2}, 1));
  net.output(net.op("Conv", "conv", {"x", "w"}));
  const Graph graph = prepare(net.graph);
  DynamicOptions options;
  options.target = "tensorrt";  // this target lists them
  const Quantized emitted = quantize(graph, options);
  const Graph& quantized = emitted.graph;
  const QuantizeReport& report = emitted.report;
  EXPECT_EQ(report.find("conv")->reason, "ConvInteger takes no volumes");
  const Tensor x = random_floats({1, 2, 4, 4, 4}, 2);
  EXPECT_EQ(run_prepared(quantized, x), run_prepared(graph, x));
}

TEST(WeightOnlyMode, StoresWeightsAsInt8AndComputesInFp32) {
  const Net net = mixed_net();
  QuantizeReport report;
  const Graph stored = make(net.graph, QuantizeMode::kWeightOnly, report);
  EXPECT_EQ(count_ops(stored, "DequantizeLinear"), 3U);
  EXPECT_EQ(count_ops(stored, "Conv"), 2U);
  EXPECT_EQ(report.weight_bytes, 6 * 4 * 9 + 4 * 9 + 50);
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(stored)), "");
  const Tensor x = random_floats({1, 4, 8, 8}, 9);
  EXPECT_GT(signal_to_noise(run_prepared(net.graph, x), run_prepared(stored, x)), 40.0);
  const Executor executor(prepare(stored));
  EXPECT_EQ(coverage_of(*executor.compile({})).integer_macs, 0);
  for (const NodeReport& node : report.nodes) {
    EXPECT_EQ(node.reason, "weights stored as int8, computed in FP32");
  }
}

TEST(WeightOnlyMode, SharesAWeightThatTwoNodesRead) {
  Net net;
  net.input("x", {1, 2, 4, 4});
  net.constant("w", random_floats({2, 2, 1, 1}, 1));
  const auto a = net.op("Conv", "a", {"x", "w"});
  net.output(net.op("Conv", "b", {a, "w"}));
  QuantizeReport report;
  EXPECT_EQ(count_ops(make(net.graph, QuantizeMode::kWeightOnly, report), "DequantizeLinear"), 1U);
  const Graph dynamic = make(net.graph, QuantizeMode::kDynamic, report);
  EXPECT_EQ(report.weight_bytes, 4);
  EXPECT_EQ(count_ops(dynamic, "ConvInteger"), 2U);
}

// A ConvTranspose with groups, and an LSTM whose directions share the scales of their gates.
TEST(WeightOnlyMode, StoresTransposedFiltersAndBothWeightsOfRecurrentNetworks) {
  Net net;
  net.input("x", {1, 4, 6, 5});
  net.constant("up_w", random_floats({4, 3, 2, 2}, 1));
  const auto up =
      net.op("ConvTranspose", "up", {"x", "up_w"},
             {{"group", std::int64_t{2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  net.constant("shape", Tensor::of<std::int64_t>({3}, {12, 6, 10}));
  const auto rows = net.op("Reshape", "rows", {up, "shape"});
  net.constant("lstm_w", random_floats({2, 32, 10}, 2));
  net.constant("lstm_r", random_floats({2, 32, 8}, 3));
  net.output(
      net.op("LSTM", "lstm", {rows, "lstm_w", "lstm_r"},
             {{"hidden_size", std::int64_t{8}}, {"direction", std::string("bidirectional")}}));
  QuantizeReport report;
  const Graph stored = make(net.graph, QuantizeMode::kWeightOnly, report);
  EXPECT_EQ(report.weight_bytes, 4 * 3 * 4 + 2 * 32 * (10 + 8));
  for (const char* name : {"up", "lstm"}) {
    EXPECT_EQ(report.find(name)->reason, "weights stored as int8, computed in FP32") << name;
  }
  const Node& lstm = stored.node(node_named(stored, "lstm"));
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    const Node& linear = stored.node(stored.value(lstm.inputs[input]).producer);
    ASSERT_TRUE(linear.is("DequantizeLinear")) << input;
    EXPECT_EQ(linear.get_int("axis", -1), 1);
    EXPECT_EQ(stored.value(linear.inputs[1]).constant->shape(), Shape{32});
  }
  EXPECT_EQ(complaint_of_checker(save_onnx_bytes(stored)), "");
  const Tensor x = random_floats({1, 4, 6, 5}, 9);
  EXPECT_GT(signal_to_noise(run_prepared(net.graph, x), run_prepared(stored, x)), 35.0);
}

// Otherwise --weight-bits would be refused for a network that has only recurrent layers.
TEST(HasWeights, CountsThoseOfRecurrentNetworks) {
  Net net;
  net.input("x", {5, 1, 4});
  net.constant("w", random_floats({1, 3, 4}, 1));
  net.constant("r", random_floats({1, 3, 3}, 2));
  net.output(net.op("RNN", "rnn", {"x", "w", "r"}, {{"hidden_size", std::int64_t{3}}}));
  EXPECT_TRUE(has_weights(net.graph));
}

TEST(DynamicMode, LeavesTransposedConvolutionsInFp32) {
  Net net;
  net.input("x", {1, 4, 6, 5});
  net.constant("w", random_floats({4, 3, 2, 2}, 1));
  net.output(net.op("ConvTranspose", "up", {"x", "w"}));
  DynamicOptions options;
  options.target = "qtool";
  const Quantized quantized = quantize(net.graph, options);
  EXPECT_EQ(quantized.report.find("up")->reason, "ONNX has no integer form of it");
  EXPECT_EQ(count_ops(quantized.graph, "ConvTranspose"), 1U);
}

TEST(QuantizeMode, NamesNonFiniteWeights) {
  for (const float broken : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Net net = mixed_net();
    Tensor weights = random_floats({6, 4, 3, 3}, 1);
    weights.values<float>()[7] = broken;
    net.graph.set_constant(net.id("w1"), std::make_shared<const Tensor>(std::move(weights)));
    QuantizeReport report;
    for (const auto mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
      make(net.graph, mode, report);
      EXPECT_EQ(report.non_finite, std::vector<std::string>{"w1"});
      EXPECT_EQ(report.find("dense")->role, NodeRole::kFloat);
      EXPECT_EQ(report.find("dense")->reason, "its weight 'w1' has NaN or infinite values");
    }
    CalibrationTable table;
    report = quantize(net.graph, table).report;
    EXPECT_EQ(report.non_finite, std::vector<std::string>{"w1"});
    EXPECT_EQ(report.find("dense")->reason, "its weight 'w1' has NaN or infinite values");
  }
}

TEST(QuantizeMode, NamesWhatTheTableDoesNotKnow) {
  const Net net = mixed_net();
  CalibrationTable table;
  for (const std::string& name : tensors_to_calibrate(net.graph, find_target("cpu"))) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    table.activations.push_back(entry);
  }
  EXPECT_TRUE(quantize(net.graph, table).report.missing_ranges.empty());
  table.activations.erase(table.activations.begin());
  EXPECT_EQ(quantize(net.graph, table).report.missing_ranges, std::vector<std::string>{"x"});
}

TEST(QuantizedNode, IsWhatOnlyQuantizedModelsHave) {
  Net net = mixed_net();
  EXPECT_FALSE(quantized_node(net.graph));
  for (const char* op : {"QLinearConv", "QLinearAdd", "DynamicQuantizeLinear", "MatMulInteger"}) {
    Net other;
    other.output(other.op(op, "node", {other.input("x", {1})}));
    EXPECT_EQ(quantized_node(other.graph), node_named(other.graph, "node")) << op;
  }
}

TEST(QuantizeWithoutTable, RefusesWhatItCannotDo) {
  const Net net = mixed_net();
  QuantizeReport report;
  for (const auto mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
    const Graph once = make(net.graph, mode, report);
    EXPECT_THROW(make(once, QuantizeMode::kDynamic, report), Error);
    EXPECT_THROW(make(once, QuantizeMode::kWeightOnly, report), Error);
  }
}

}  // namespace
}  // namespace qtool
