// Tests equalization, which gives the same network with channels that fill the range of their
// tensor.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/groundwork.h"
#include "support/absent.h"
#include "support/places.h"
#include "support/random_floats.h"
#include "unit/uneven_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The factors by which the channels of a tensor are divided.
std::vector<float> factors(const CalibrationTable& before, const CalibrationTable& after,
                           const std::string& tensor) {
  std::vector<float> result;
  const Observed& a = before.find(tensor)->observed;
  const Observed& b = after.find(tensor)->observed;
  for (std::size_t c = 0; c < a.channel_maxs.size(); ++c) {
    const float from = std::max(a.channel_maxs[c], -a.channel_mins[c]);
    const float to = std::max(b.channel_maxs[c], -b.channel_mins[c]);
    result.push_back(from == 0.0F ? 1.0F : from / to);
  }
  return result;
}

/// The rewritten network, in which the bound of each Clip is divided by each channel's factor, as
/// FP32 needs it. (On integers, saturation has that effect.)
Graph with_bounds_by_channel(const Graph& graph, const CalibrationTable& before,
                             const CalibrationTable& after) {
  Graph exact = graph;
  for (const NodeId id : std::vector<NodeId>(exact.nodes())) {
    const Node node = exact.node(id);
    if (!node.is("Clip") || !node.has_input(2)) continue;
    const std::string name = exact.value(node.outputs[0]).name;
    if (before.find(name) == nullptr) continue;
    const std::vector<float> by = factors(before, after, name);
    const float bound = exact.value(node.inputs[2]).constant->values<float>()[0];
    Tensor bounds(DType::kFloat32, Shape{1, std::ssize(by), 1, 1});
    for (std::size_t c = 0; c < by.size(); ++c) bounds.values<float>()[c] = bound / by[c];
    const ValueId relu = exact.add_value(exact.unique_name(name + "_relu"));
    Node first;
    first.op_type = "Relu";
    first.inputs = {node.inputs[0]};
    first.outputs = {relu};
    exact.add_node(std::move(first), id);
    exact.truncate_inputs(id, 1);
    exact.set_op(id, "Min");
    exact.set_input(id, 0, relu);
    exact.set_input(id, 1, exact.add_constant(exact.unique_name("bounds"), std::move(bounds)));
  }
  exact.check();
  return exact;
}

std::vector<std::vector<float>> run_seeded(const Graph& graph, unsigned seed) {
  const Executor executor(graph);
  const auto plan = executor.compile(typical_shapes(graph, {}));
  const Tensor input = uniform_image(plan->inputs()[0].shape, seed);
  const std::vector<TensorView> inputs{input};
  Workspace workspace;
  std::vector<std::vector<float>> outputs;
  for (const TensorView& view : plan->run(inputs, workspace)) {
    const auto values = view.values<float>();
    outputs.emplace_back(values.begin(), values.end());
  }
  return outputs;
}

/// The largest difference of two runs, as a share of the largest output.
double largest_difference(const Graph& a, const Graph& b, unsigned seed) {
  const auto of_a = run_seeded(a, seed);
  const auto of_b = run_seeded(b, seed);
  EXPECT_EQ(of_a.size(), of_b.size());
  double worst = 0.0;
  for (std::size_t o = 0; o < of_a.size(); ++o) {
    double largest = 0.0;
    double difference = 0.0;
    for (std::size_t i = 0; i < of_a[o].size(); ++i) {
      largest = std::max(largest, std::abs(double{of_a[o][i]}));
      difference = std::max(difference, std::abs(double{of_a[o][i]} - of_b[o][i]));
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

TEST(Equalize, LeavesWhatTheNetworkComputesAsItIs) {
  const Executor fp32(prepare(uneven_net().graph));
  const CalibrationTable table = table_of(fp32);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, equalized());
  ASSERT_THAT(ground.rewrites().names, ElementsAre("equalize"));
  const Graph exact = with_bounds_by_channel(ground.graph(), table, ground.table());
  for (unsigned seed = 40; seed < 44; ++seed) {
    EXPECT_LT(largest_difference(fp32.graph(), exact, seed), 1e-5);
  }
  // The factors are not all 1, and channels that are joined have the same factors.
  const std::vector<float> by = factors(table, ground.table(), "clip1_out");
  EXPECT_EQ(*std::max_element(by.begin(), by.end()), 1.0F);
  EXPECT_LT(*std::min_element(by.begin(), by.end()), 0.3F);
  EXPECT_THAT(factors(table, ground.table(), "c3_out"),
              testing::Pointwise(testing::FloatEq(), factors(table, ground.table(), "c4_out")));
}

TEST(Equalize, MakesTheIntegersOfUnevenChannelsMorePrecise) {
  Net net;  // the second layer amplifies the small channels of the first
  const auto small = uneven_conv(net, "c1", net.input("x", {1, 3, 12, 12}), 8, 3, 1, 31);
  const auto even = uneven_conv(net, "c2", net.op("Relu", "r1", {small}), 8, 8, 8, 32, 4.0F);
  net.output(uneven_conv(net, "c3", net.op("Relu", "r2", {even}), 4, 8, 1, 33, 1.0F));
  const Executor fp32(prepare(net.graph));
  const CalibrationTable table = table_of(fp32);
  const auto noise = [&](const StaticOptions& options) {
    double sum = 0.0;
    const Graph int8 = quantize(fp32.graph(), table, options).graph;
    for (unsigned seed = 60; seed < 64; ++seed) {
      const auto a = run_seeded(fp32.graph(), seed)[0];
      const auto b = run_seeded(int8, seed)[0];
      for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
    }
    return sum;
  };
  EXPECT_LT(noise(equalized()), 0.5 * noise({}));
}

// The rows of c1 differ in size by a factor of 64, and so do the rows of the depthwise c2.
TEST(Equalize, MakesWeightsThatShareAScaleMorePrecise) {
  for (const bool has_clip : {false, true}) {
    Net net;
    const auto small = uneven_conv(net, "c1", net.input("x", {1, 3, 12, 12}), 8, 3, 1, 31);
    std::string first = net.op("Relu", "r1", {small});
    if (has_clip) {
      net.constant("zero", Tensor::scalar<float>(0.0F));
      net.constant("six", Tensor::scalar<float>(6.0F));
      first = net.op("Clip", "clip", {small, "zero", "six"});
    }
    const auto deep = uneven_conv(net, "c2", first, 8, 8, 8, 32, 0.25F);
    net.output(uneven_conv(net, "c3", net.op("Relu", "r2", {deep}), 4, 8, 1, 33, 1.0F));
    const Executor fp32(prepare(net.graph));
    const CalibrationTable table = table_of(fp32);
    const auto noise = [&](StaticOptions options) {
      options.types.weight_granularity = Granularity::kPerTensor;
      double sum = 0.0;
      const Quantized quantized = quantize(fp32.graph(), table, options);
      if (!quantized.report.rewrites.empty()) {
        EXPECT_GT(quantized.report.rewrites[0].tensors, 0);
      }
      for (unsigned seed = 60; seed < 64; ++seed) {
        const auto a = run_seeded(fp32.graph(), seed)[0];
        const auto b = run_seeded(quantized.graph, seed)[0];
        for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
      }
      return sum;
    };
    EXPECT_LT(noise(equalized()), 0.6 * noise({})) << has_clip;
  }
}

TEST(Equalize, KeepsRangesWhereTheSaturationOfRelu6IsTheClip) {
  const Executor fp32(prepare(uneven_net().graph));
  const CalibrationTable table = table_of(fp32);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, equalized());
  for (const ActivationEntry& entry : ground.table().activations) {
    EXPECT_EQ(entry.affine, table.find(entry.tensor)->affine) << entry.tensor;
  }
}

TEST(Equalize, IsTheSameInCalibrateAndQuantize) {
  const Executor fp32(prepare(uneven_net().graph));
  CalibrateOptions options;
  options.rewrites = {"equalize"};
  const CalibrationTable table = table_of(fp32, options);
  const CalibrationTable plain = table_of(fp32);
  EXPECT_EQ(table.activations, plain.activations);
  EXPECT_EQ(save_onnx_bytes(quantize(fp32.graph(), table).graph).size(),
            save_onnx_bytes(quantize(fp32.graph(), plain, equalized()).graph).size());
  const auto scales_of = [](const Quantized& model, const std::string& name) {
    const auto scales = model.graph.value(model.graph.find_value(name).value()).constant;
    return std::vector<float>(scales->values<float>().begin(), scales->values<float>().end());
  };
  const Quantized a = quantize(fp32.graph(), table);
  const Quantized b = quantize(fp32.graph(), plain, equalized());
  for (const WeightEntry& entry : table.weights) {
    EXPECT_EQ(scales_of(a, entry.tensor + "_s"), entry.affines.scales);
    EXPECT_EQ(scales_of(b, entry.tensor + "_s"), entry.affines.scales);
  }
  EXPECT_EQ(run_seeded(a.graph, 70), run_seeded(b.graph, 70));
}

TEST(Equalize, LeavesTensorsAloneWhoseRangeTheUserGave) {
  const Executor fp32(prepare(uneven_net().graph));
  CalibrateOptions options;
  options.overrides.ranges = {{"clip1_out", {0.0F, 3.0F}}, {"relu_sum_out", {0.0F, 3.0F}}};
  const CalibrationTable table = table_of(fp32, options);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, equalized());
  for (const char* tensor : {"clip1_out", "relu_sum_out", "c3_out", "c4_out"}) {
    EXPECT_THAT(factors(table, ground.table(), tensor), testing::Each(1.0F)) << tensor;
  }
  EXPECT_THAT(factors(table, ground.table(), "relu2_out"), testing::Contains(testing::Lt(0.5F)));
}

TEST(Equalize, SaysWhyItChangesNothing) {
  const Executor fp32(prepare(uneven_net().graph));
  const auto reason = [&](const CalibrationTable& table, const StaticOptions& options) {
    const Quantized quantized = quantize(fp32.graph(), table, options);
    EXPECT_EQ(quantized.graph.info.metadata.count(std::string(kRewritesKey)), 0U);
    return quantized.report.rewrites.at(0).reason;
  };
  CalibrationTable foreign = table_of(fp32);
  for (ActivationEntry& entry : foreign.activations) entry.observed = {};
  EXPECT_EQ(reason(foreign, equalized()), "the table has no statistics per channel");
  CalibrationTable given = table_of(fp32);
  for (ActivationEntry& entry : given.activations) entry.origin = Origin::kUser;
  EXPECT_EQ(reason(given, equalized()), "no channels between layers can be scaled");
}

TEST(Equalize, StopsAtOperatorsThatDoNotPassFactorsOn) {
  Net net;
  const auto a = uneven_conv(net, "a", net.input("x", {1, 3, 8, 8}), 4, 3, 1, 21);
  const auto b = uneven_conv(net, "b", net.op("Sigmoid", "sigmoid", {a}), 4, 4, 1, 22);
  const auto c =
      uneven_conv(net, "c", net.op("Mul", "mul", {b, net.op("Sigmoid", "s2", {b})}), 4, 4, 1, 23);
  net.output(c);
  const Executor fp32(prepare(net.graph));
  CalibrateOptions options;
  const CalibrationTable table = table_of(fp32, options);
  EXPECT_EQ(quantize(fp32.graph(), table, equalized()).report.rewrites.at(0).tensors, 0);
}

/// Real networks, if ../shared has them.
class EqualizedNetwork : public testing::TestWithParam<const char*> {};

TEST_P(EqualizedNetwork, ComputesTheSame) {
  const auto path = std::filesystem::path(kSharedData) / "models" / GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << absent(path);
  const Executor fp32(prepare(load_onnx(path.string())));
  const CalibrationTable table = table_of(fp32);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, equalized());
  ASSERT_THAT(ground.rewrites().names, ElementsAre("equalize"));
  const Graph exact = with_bounds_by_channel(ground.graph(), table, ground.table());
  for (const unsigned seed : {3U, 80U}) {  // one it was calibrated on, one it was not
    EXPECT_LT(largest_difference(fp32.graph(), exact, seed), 2e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, EqualizedNetwork,
    testing::Values("mobilenet_v2_1.0_224.onnx", "squeezenet1.1.onnx", "cifar10_resnet20.onnx",
                    "ultraface_rfb_320.onnx", "fastestdet_coco_352.onnx",
                    "wild/blazeface_back_256.onnx"),
    [](const auto& row) {
      std::string name = row.param;
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

TEST(Equalize, ScalesChannelsBehindAFunction) {
  const Executor fp32(prepare(silu_net(0.1F).graph));
  const CalibrationTable table = table_for_qtool(fp32);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, for_qtool(equalized()));
  ASSERT_EQ(ground.placement().inner_functions.size(), 2U);
  for (unsigned seed = 40; seed < 44; ++seed) {
    EXPECT_LT(largest_difference(fp32.graph(), ground.graph(), seed), 1e-5);
  }
  EXPECT_EQ(node_named(ground.graph(), "c1_out_factors"), kNoNode);
  const std::vector<float> by = factors(table, ground.table(), "s1_out");
  EXPECT_EQ(*std::ranges::max_element(by), 1.0F);
  EXPECT_LT(*std::ranges::min_element(by), 0.3F);

  const auto noise = [&](const StaticOptions& options) {
    double sum = 0.0;
    const Graph int8 = quantize(fp32.graph(), table, options).graph;
    for (unsigned seed = 60; seed < 64; ++seed) {
      const auto a = run_seeded(fp32.graph(), seed)[0];
      const auto b = run_seeded(int8, seed)[0];
      for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - b[i], 2);
    }
    return sum;
  };
  EXPECT_LT(noise(for_qtool(equalized())), 0.3 * noise(for_qtool({})));
}

TEST(Equalize, AddsNothingToFunctionsThatNeedNoFactors) {
  const Executor fp32(prepare(silu_net(1.0F).graph));
  CalibrateOptions calibrated;
  calibrated.target = "qtool";
  calibrated.overrides.ranges = {{"s1_out", {-0.3F, 8.0F}}};
  const CalibrationTable table = table_of(fp32, calibrated);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, for_qtool(equalized()));
  ASSERT_EQ(ground.placement().inner_functions.size(), 2U);
  for (const char* name : {"c1_out_factors", "s1_out_factors"}) {
    EXPECT_EQ(node_named(ground.graph(), name), kNoNode) << name;
  }
}

// conv -> `function` -> depthwise -> conv
Net net_with(const std::function<std::string(Net&, const std::string&)>& function) {
  Net net;
  const auto c1 = uneven_conv(net, "c1", net.input("x", {1, 3, 12, 12}), 8, 3, 1, 31, 0.1F);
  const auto c2 = uneven_conv(net, "c2", function(net, c1), 8, 8, 8, 32, 10.0F);
  net.output(uneven_conv(net, "c3", c2, 4, 8, 1, 33, 1.0F));
  return net;
}

/// net_with() for target qtool, before and after equalization.
struct WithFunction {
  explicit WithFunction(const std::function<std::string(Net&, const std::string&)>& function)
      : fp32(prepare(net_with(function).graph)),
        table(table_for_qtool(fp32)),
        ground(lay_groundwork(fp32.graph(), table, for_qtool(equalized()))) {
    EXPECT_EQ(ground.placement().inner_functions.size(), 1U);
    EXPECT_LT(largest_difference(fp32.graph(), ground.graph(), 40), 1e-5);
  }

  [[nodiscard]] float least_factor(const char* tensor) const {
    const std::vector<float> by = factors(table, ground.table(), tensor);
    return *std::ranges::min_element(by);
  }

  Executor fp32;
  CalibrationTable table;
  Groundwork ground;
};

TEST(Equalize, ScalesThroughALeakyReluInsideAConvolution) {
  const WithFunction net(
      [](Net& n, const std::string& x) { return n.op("LeakyRelu", "leaky", {x}); });
  EXPECT_EQ(node_named(net.ground.graph(), "leaky_out_factors"), kNoNode);
  EXPECT_LT(net.least_factor("leaky_out"), 0.3F);
}

TEST(Equalize, ScalesTheFactorsWithWhichAFunctionEnds) {
  const WithFunction net([](Net& n, const std::string& x) {
    n.constant("gamma", random_floats({8, 1, 1}, 9, 0.5F, 2.0F));
    return n.op("Mul", "scaled", {"gamma", n.op("Tanh", "tanh", {x})});
  });
  EXPECT_EQ(net.ground.graph().nodes().size(), net.fp32.graph().nodes().size());
  EXPECT_LT(net.least_factor("scaled_out"), 0.9F);
}

TEST(Equalize, PassesTheGateOfSqueezeAndExcitation) {
  Net net;
  const auto c1 = net.op(
      "Relu", "r1", {uneven_conv(net, "c1", net.input("x", {1, 3, 12, 12}), 8, 3, 1, 41, 0.1F)});
  net.constant("w", random_floats({8, 8, 1, 1}, 42));
  const auto squeezed = net.op("GlobalAveragePool", "gap", {c1});
  const auto gate = net.op("Sigmoid", "gate", {net.op("Conv", "fc", {squeezed, "w"})});
  net.output(uneven_conv(net, "c2", net.op("Mul", "gated", {gate, c1}), 4, 8, 1, 43, 1.0F));
  const Executor fp32(prepare(net.graph));
  const CalibrationTable table = table_of(fp32);
  const Groundwork ground = lay_groundwork(fp32.graph(), table, equalized());
  EXPECT_LT(largest_difference(fp32.graph(), ground.graph(), 44), 1e-5);
  const std::vector<float> by = factors(table, ground.table(), "gated_out");
  EXPECT_LT(*std::ranges::min_element(by), 0.5F);
  EXPECT_THAT(factors(table, ground.table(), "r1_out"), testing::Pointwise(testing::FloatEq(), by));
  EXPECT_THAT(factors(table, ground.table(), "gate_out"), testing::Each(1.0F));
}

}  // namespace
}  // namespace qtool
