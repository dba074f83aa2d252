// Tensors that keep 16 bits.
#include "quantize/placement/wide_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compare/metrics.h"
#include "compare/quantized_parts.h"
#include "qtool/base/error.h"
#include "qtool/compare/infer.h"
#include "qtool/exec/executor.h"
#include "unit/uneven_net.h"

namespace qtool {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Ints = std::vector<std::int64_t>;

std::ptrdiff_t steps_named(const Plan& plan, std::string_view op_type) {
  return std::ranges::count(plan.steps(), op_type, &StepInfo::op_type);
}

/// Options that observe the results of these operators, except graph outputs.
CompileOptions observing(const Graph& graph, const std::vector<std::string_view>& op_types) {
  CompileOptions options;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool observed = std::ranges::find(op_types, node.op_type) != op_types.end();
    if (observed && !graph.is_output(node.outputs[0])) {
      options.observe.push_back(graph.value(node.outputs[0]).name);
    }
  }
  return options;
}

/// conv -> SiLU -> depthwise -> SiLU -> conv for target qtool.
class WideTensors : public testing::Test {
 protected:
  WideTensors() { table_ = table_for_qtool(fp32_); }
  [[nodiscard]] Quantized made(const std::vector<std::string>& wide,
                               StaticOptions options = for_qtool({})) const {
    options.wide = wide;
    return quantize(fp32_.graph(), table_, options);
  }
  /// The SQNR against the FP32 network, over a few images.
  [[nodiscard]] double sqnr(const Graph& int8) const {
    const Executor executor(prepare(Graph(int8)));
    SqnrSums sums;
    for (unsigned seed = 60; seed < 64; ++seed) {
      const Tensor input = uniform_image({1, 3, 12, 12}, seed);
      Workspace a;
      Workspace b;
      const std::vector<TensorView> inputs{input};
      sums += sqnr_sums(fp32_.compile({})->run(inputs, a)[0].values<float>(),
                        executor.compile({})->run(inputs, b)[0].values<float>());
    }
    return sums.decibels();
  }
  [[nodiscard]] std::string refusal(const std::vector<std::string>& wide,
                                    StaticOptions options) const {
    try {
      static_cast<void>(made(wide, std::move(options)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "";
  }

  const Executor fp32_{prepare(silu_net(1.0F).graph)};
  CalibrationTable table_;
};

TEST_F(WideTensors, LoseNothingThatRoundingThemWouldLose) {
  const Quantized plain = made({});
  const Quantized wide = made({"*"});
  EXPECT_THAT(plain.report.wide, testing::IsEmpty());
  EXPECT_THAT(wide.report.wide, UnorderedElementsAre("x", "s1_out", "s2_out"));
  EXPECT_THAT(wide.report.not_wide, Contains("c3_out"));
  // With 16 bits everywhere only the weights are rounded.
  const Quantized weights = quantize(fp32_.graph(), WeightOnlyOptions());
  EXPECT_GT(sqnr(wide.graph), sqnr(plain.graph) + 3.0);
  EXPECT_NEAR(sqnr(wide.graph), sqnr(weights.graph), 1.0);
  EXPECT_EQ(wide.graph.info.metadata.at(std::string(kWideKey)), "3");
}

TEST_F(WideTensors, AreMultipliedOnIntegers) {
  Quantized wide = made({"*"});
  const Coverage coverage = measure_coverage(prepare(Graph(wide.graph)),
                                             typical_shapes(fp32_.graph(), {}), wide.report, {});
  EXPECT_EQ(coverage.integer_macs, coverage.macs);
  // Both bytes of the first two layers run in one step each, those of the last one in two. Each
  // layer counts once.
  EXPECT_EQ(coverage.integer_convolutions, 3);
  EXPECT_EQ(coverage.convolutions, 3);
}

TEST(WideTensor, IsReadUnroundedByFunctions) {
  Net net = silu_net(1.0F);
  net.output(uneven_conv(net, "c4", "c1_out", 4, 8, 1, 34, 1.0F));
  const Executor fp32(prepare(net.graph));
  const CalibrationTable table = table_for_qtool(fp32);
  StaticOptions options = for_qtool({});
  EXPECT_EQ(quantize(fp32.graph(), table, options).report.functions, 1);
  options.wide = {"c1_out"};
  const Quantized wide = quantize(fp32.graph(), table, options);
  EXPECT_THAT(wide.report.wide, ElementsAre("c1_out"));
  EXPECT_EQ(wide.report.functions, 0);
  EXPECT_EQ(wide.report.inner_functions, 1);
  const auto found = std::ranges::find(wide.report.nodes, "s1", &NodeReport::node);
  ASSERT_NE(found, wide.report.nodes.end());
  EXPECT_EQ(found->role, NodeRole::kFloat);
  EXPECT_EQ(found->reason, "its input keeps 16 bits");
}

// The two bytes count as one integer, whose step is a 254th of the step without the second byte.
TEST_F(WideTensors, AreAnalyzedWithTheStepOfTheirSecondByte) {
  const Graph int8 = prepare(made({"s1_out"}).graph);
  const auto step_of = [&](const QuantizedParts& parts) {
    for (const QuantizedActivation& activation : parts.activations) {
      if (activation.tensor == "s1_out") return activation.affine.scale;
    }
    return 0.0F;
  };
  const float before = step_of(quantized_parts(fp32_.graph(), prepare(made({}).graph)));
  EXPECT_EQ(step_of(quantized_parts(fp32_.graph(), int8)), before / kWideSteps);
}

TEST_F(WideTensors, AreDumpedBeforeTheyAreRoundedToTwoBytes) {
  const Executor int8(prepare(made({"s1_out"}).graph));
  std::vector<Tensor> sample;
  sample.push_back(uniform_image({1, 3, 12, 12}, 60));
  const std::vector<std::string> names{"s1_out"};
  const std::vector<TensorPair> pairs = TensorPairs(fp32_, &int8, sample, names, {}).run(sample);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_FALSE(pairs[0].integers);
  EXPECT_TRUE(pairs[0].int8);
}

// The two products of a layer, the function behind them and the rounding to both bytes are one
// step. If a tensor in between is observed, the network runs without these fusions, and with the
// functions themselves instead of curves, which differ from them by a step of the second byte.
TEST_F(WideTensors, RunInFewerPasses) {
  for (const std::vector<std::string>& rewrites :
       {std::vector<std::string>{}, std::vector<std::string>{"equalize"}}) {
    StaticOptions options = for_qtool({});
    options.rewrites = rewrites;
    const Executor int8(prepare(made({"*"}, options).graph));
    CompileOptions apart = observing(int8.graph(), {"Sub", "Conv"});
    for (const Requantization path : {Requantization::kFloat, Requantization::kSingle}) {
      CompileOptions together;
      together.requantization = apart.requantization = path;
      const auto fused = int8.compile({}, together);
      const auto unfused = int8.compile({}, apart);
      EXPECT_EQ(steps_named(*fused, "Sub"), 0);
      EXPECT_EQ(steps_named(*fused, "Add"), 0);
      EXPECT_EQ(steps_named(*fused, "QuantizeLinear"), 1);  // of the input
      EXPECT_EQ(steps_named(*unfused, "Sub"), 3);
      EXPECT_GE(steps_named(*unfused, "Add"), 1);  // or within a chain
      const Tensor input = uniform_image({1, 3, 12, 12}, 60);
      Workspace a;
      Workspace b;
      const std::vector<TensorView> inputs{input};
      const auto one = fused->run(inputs, a)[0].values<float>();
      const auto other = unfused->run(inputs, b)[0].values<float>();
      // With one byte this is about 45 dB.
      EXPECT_GT(sqnr_sums(other, one).decibels(), 75.0);
    }
  }
}

/// Two branches that a Concat joins before another convolution. `most`: the largest result of the
/// second branch.
Net joined_net(float most) {
  Net net;
  const auto x = net.input("x", {1, 3, 12, 12});
  const auto zero = net.constant("zero", Tensor::scalar<float>(0.0F));
  const auto top = net.constant("top", Tensor::scalar<float>(most));
  const auto a = net.op("Relu", "a", {uneven_conv(net, "c1", x, 4, 3, 1, 11, 1.0F)});
  const auto b = net.op("Clip", "b", {uneven_conv(net, "c2", x, 4, 3, 1, 11, 1.0F), zero, top});
  const auto join = net.op("Concat", "join", {a, b}, {{"axis", std::int64_t{1}}});
  net.output(uneven_conv(net, "c3", join, 4, 8, 1, 12, 1.0F));
  return net;
}

// Every element of the Concat is a byte of an operand with another map, so that tables give both
// bytes of the result.
TEST(WideTensor, OfAConcatHasItsBytesFromTables) {
  const Executor fp32(prepare(joined_net(0.02F).graph));
  StaticOptions options = for_qtool({});
  options.wide = {"join_out"};
  const Quantized wide = quantize(fp32.graph(), table_for_qtool(fp32), options);
  EXPECT_THAT(wide.report.wide, ElementsAre("join_out"));
  const Executor int8(prepare(Graph(wide.graph)));
  const CompileOptions apart = observing(int8.graph(), {"Sub"});
  ASSERT_EQ(apart.observe.size(), 1U);
  const auto tables = int8.compile({});
  const auto floats = int8.compile({}, apart);
  EXPECT_EQ(steps_named(*tables, "Sub"), 0);
  EXPECT_EQ(steps_named(*tables, "Concat"), 2);
  EXPECT_EQ(steps_named(*tables, "QuantizeLinear"), 1);  // of the input
  EXPECT_EQ(steps_named(*floats, "Sub"), 1);
  for (unsigned seed = 60; seed < 64; ++seed) {
    const Tensor input = uniform_image({1, 3, 12, 12}, seed);
    const std::vector<TensorView> inputs{input};
    Workspace a;
    Workspace b;
    const auto one = tables->run(inputs, a)[0].values<float>();
    const auto other = floats->run(inputs, b)[0].values<float>();
    EXPECT_THAT(std::vector<float>(one.begin(), one.end()), testing::ElementsAreArray(other));
  }
}

// With one map for all of them, the second byte would always stand for 0.
TEST(WideTensor, OfTheBytesOfOthersIsNone) {
  const Executor fp32(prepare(joined_net(1e9F).graph));
  const CalibrationTable table = table_for_qtool(fp32);
  StaticOptions options = for_qtool({});
  const Quantized plain = quantize(fp32.graph(), table, options);
  options.wide = {"join_out"};
  const Quantized wide = quantize(fp32.graph(), table, options);
  EXPECT_THAT(wide.report.wide, testing::IsEmpty());
  EXPECT_THAT(wide.report.not_wide, ElementsAre("join_out"));
  EXPECT_EQ(save_onnx_bytes(wide.graph), save_onnx_bytes(plain.graph));
}

// Nodes that only move elements read them before they are rounded. Otherwise the second byte would
// always stand for 0.
TEST(WideTensor, IsMovedUnrounded) {
  Net net;
  const auto x = net.input("x", {1, 3, 12, 12});
  net.constant("pads", Tensor::of<std::int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}));
  const auto pad = net.op("Pad", "pad", {x, "pads"}, {{"mode", std::string("reflect")}});
  net.constant("dims", Tensor::of<std::int64_t>({4}, {1, 3, 14, -1}));
  const auto same = net.op("Reshape", "same", {pad, "dims"});
  const auto c1 = net.op("Relu", "relu", {uneven_conv(net, "c1", same, 4, 3, 1, 11, 1.0F)});
  const auto pool = net.op("MaxPool", "pool", {c1}, {{"kernel_shape", Ints{2, 2}}});
  net.output(uneven_conv(net, "c2", pool, 4, 4, 1, 12, 1.0F));
  const Executor fp32(prepare(net.graph));
  StaticOptions options = for_qtool({});
  options.wide = {"same_out", "pool_out"};
  const Quantized wide = quantize(fp32.graph(), table_for_qtool(fp32), options);
  EXPECT_THAT(wide.report.wide, UnorderedElementsAre("same_out", "pool_out"));
  const auto read_by = [&](std::string_view name) -> std::string {
    for (const NodeId id : wide.graph.nodes()) {
      const Node& node = wide.graph.node(id);
      if (node.name == name) return wide.graph.value(node.inputs[0]).name;
    }
    return "";
  };
  EXPECT_EQ(wide.report.find("pool")->role, NodeRole::kFloat);
  EXPECT_EQ(wide.report.find("pool")->reason, "its result keeps 16 bits");
  EXPECT_EQ(read_by("pad"), "x");
  EXPECT_EQ(read_by("same"), "pad_out");
  EXPECT_EQ(read_by("pool"), "relu_out");
  const Tensor input = uniform_image({1, 3, 12, 12}, 60);
  const std::vector<TensorView> inputs{input};
  const auto sqnr_of = [&](const Graph& graph) {
    const Executor int8(prepare(Graph(graph)));
    Workspace a;
    Workspace b;
    return sqnr_sums(fp32.compile({})->run(inputs, a)[0].values<float>(),
                     int8.compile({})->run(inputs, b)[0].values<float>())
        .decibels();
  };
  options.wide.clear();
  const Quantized plain = quantize(fp32.graph(), table_for_qtool(fp32), options);
  EXPECT_GT(sqnr_of(wide.graph), sqnr_of(plain.graph) + 2.0);
}

TEST_F(WideTensors, OfAGraphOutputKeepItsName) {
  Net net;
  const auto c1 = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(c1);
  const Executor fp32(prepare(net.graph));
  CalibrateOptions calibrated;
  calibrated.target = "qtool";
  const CalibrationTable table = [&] {
    const Calibration calibration(fp32, calibrated);
    return calibration.decide(observed(fp32, calibration));
  }();
  StaticOptions options = for_qtool({});
  options.wide = {"x"};
  const Graph graph = quantize(fp32.graph(), table, options).graph;
  EXPECT_EQ(graph.value(graph.outputs().front()).name, "c1_out");
  EXPECT_THAT(quantize(fp32.graph(), table, options).report.wide, ElementsAre("x"));
}

// A function reads a graph output before it is rounded, and the output keeps its name.
TEST_F(WideTensors, MayBeGraphOutputsThatAFunctionReads) {
  Net net = silu_net(1.0F);
  net.output("c1_out");
  const Executor fp32(prepare(net.graph));
  const CalibrationTable table = table_for_qtool(fp32);
  StaticOptions options = for_qtool({});
  options.wide = {"c1_*", "c1_out"};  // named twice, widened once
  const Quantized wide = quantize(fp32.graph(), table, options);
  EXPECT_THAT(wide.report.wide, ElementsAre("c1_out"));
  ASSERT_EQ(wide.graph.outputs().size(), 2U);
  EXPECT_EQ(wide.graph.value(wide.graph.outputs()[1]).name, "c1_out");
  for (const NodeReport& node : wide.report.nodes) {
    if (node.node == "s1") {
      EXPECT_EQ(node.role, NodeRole::kFloat);
    }
  }
  EXPECT_GT(Executor(prepare(Graph(wide.graph))).compile({})->steps().size(), 3U);
}

TEST_F(WideTensors, ThatNothingReadsOnIntegersChangeNothing) {
  const Quantized wide = made({"c3_out"});
  EXPECT_THAT(wide.report.wide, testing::IsEmpty());
  EXPECT_THAT(wide.report.not_wide, ElementsAre("c3_out"));
  EXPECT_EQ(save_onnx_bytes(wide.graph), save_onnx_bytes(made({}).graph));
}

TEST_F(WideTensors, AreRefusedWhereTheyCannotBe) {
  EXPECT_THAT(refusal({"s1_oot"}, for_qtool({})), HasSubstr("did you mean 's1_out'"));
  EXPECT_THAT(refusal({"s1_out"}, {}), HasSubstr("target 'cpu' has none, expected target qtool"));
  StaticOptions few = for_qtool({});
  few.types.activation_bits = 4;
  EXPECT_THAT(refusal({"s1_out"}, few), HasSubstr("found activations of 4 bits, expected 8"));
}

}  // namespace
}  // namespace qtool
