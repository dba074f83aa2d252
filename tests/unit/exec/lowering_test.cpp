// Compares every kind of Q/DQ cluster, lowered to integers, with the same graph, run node by node
// as the ONNX specification says (Lowering::kReference).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/quant/affine.h"
#include "support/random_floats.h"
#include "unit/qdq_net.h"

namespace qtool {
namespace {

struct ClusterCase {
  const char* name;
  std::function<void(QdqNet&)> build;  // from input "x" [2, 6, 9, 7] to the graph's output
  float step;                          // of the output grid, 0 for float outputs
};

void PrintTo(const ClusterCase& c, std::ostream* out) { *out << c.name; }

using Ints = std::vector<std::int64_t>;

std::string conv(QdqNet& net, const std::string& x, Shape w, std::int64_t group, const Ints& pads,
                 const Ints& strides, const Ints& dilations = {1, 1}) {
  const std::int64_t channels = w[0];
  return net.op("Conv", "conv", {x, net.weights("w", std::move(w), 0), net.bias("b", channels)},
                {{"group", group}, {"pads", pads}, {"strides", strides}, {"dilations", dilations}});
}

std::vector<ClusterCase> cluster_cases() {
  const auto in = [](QdqNet& net) { return net.qdq("x", 0.02F, 117); };
  return {
      {"ConvWithRelu",
       [=](QdqNet& net) {
         const auto y = conv(net, in(net), {5, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1});
         net.output(net.qdq(net.op("Relu", "relu", {y}), 0.05F, 3));
       },
       0.05F},
      {"ConvWithoutActivation",
       [=](QdqNet& net) {
         net.output(net.qdq(conv(net, in(net), {4, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1}), 0.05F, 120));
       },
       0.05F},
      {"ConvWithFloatOutput",
       [=](QdqNet& net) {
         net.output(conv(net, in(net), {4, 6, 3, 1}, 1, {0, 1, 1, 0}, {2, 1}, {2, 1}));
       },
       0.0F},
      {"DepthwiseConvWithClip",
       [=](QdqNet& net) {
         const auto y = conv(net, in(net), {6, 1, 3, 3}, 6, {0, 1, 1, 2}, {2, 2});
         net.constant("low", Tensor::scalar<float>(0.0F));
         net.constant("high", Tensor::scalar<float>(6.0F));
         net.output(net.qdq(net.op("Clip", "clip", {y, "low", "high"}), 6.0F / 255.0F, 0));
       },
       6.0F / 255.0F},
      {"GroupedConv",
       [=](QdqNet& net) {
         net.output(net.qdq(conv(net, in(net), {8, 3, 3, 3}, 2, {1, 1, 1, 1}, {1, 1}), 0.05F, 99));
       },
       0.05F},
      {"ConvWithUnsignedWeights",
       [=](QdqNet& net) {
         const auto w = net.weights<std::uint8_t>("w", {5, 6, 3, 3}, 0, 0, 255, 131);
         net.output(net.qdq(net.op("Conv", "conv", {in(net), w}), 0.05F, 128));
       },
       0.05F},
      {"ConvOnSignedActivations",
       [=](QdqNet& net) {
         const auto y =
             net.op("Conv", "conv",
                    {net.qdq<std::int8_t>("x", 0.02F, -11), net.weights("w", {5, 6, 3, 3}, 0)});
         net.output(net.qdq<std::int8_t>(y, 0.05F, 4));
       },
       0.05F},
      {"Gemm",
       [=](QdqNet& net) {
         const auto flat = net.qdq(net.op("Flatten", "flat", {in(net)}), 0.02F, 117);
         net.output(net.op("Gemm", "gemm",
                           {flat, net.weights("w", {10, 6 * 9 * 7}, 0), net.bias("b", 10)},
                           {{"transB", std::int64_t{1}}}));
       },
       0.0F},
      {"MatMulOfRows",
       [=](QdqNet& net) {
         net.output(net.qdq(net.op("MatMul", "matmul", {in(net), net.weights("w", {7, 5}, 1)}),
                            0.04F, 100));
       },
       0.04F},
      {"AddWithRelu",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto y =
             net.qdq(net.op("MaxPool", "pool", {x}, {{"kernel_shape", Ints{1, 1}}}), 0.03F, 90);
         net.output(net.qdq(net.op("Relu", "relu", {net.op("Add", "add", {x, y})}), 0.03F, 5));
       },
       0.03F},
      {"ConvAddedToItsInputWithRelu",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto y = conv(net, x, {6, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1});
         net.output(net.qdq(net.op("Relu", "relu", {net.op("Add", "add", {y, x})}), 0.05F, 3));
       },
       0.05F},
      {"ConvAddedToALaterConv",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto y = conv(net, x, {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
         const auto z =
             net.qdq(net.op("Conv", "later", {x, net.weights("v", {6, 6, 1, 1}, 0)}), 0.04F, 130);
         net.output(net.qdq(net.op("Add", "add", {z, y}), 0.06F, 120));
       },
       0.06F},
      {"DepthwiseConvAddedToItsInput",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto y = conv(net, x, {6, 1, 3, 3}, 6, {1, 1, 1, 1}, {1, 1});
         net.output(net.qdq(net.op("Add", "add", {x, y}), 0.04F, 120));
       },
       0.04F},
      {"ConvAddedToSignedActivations",
       [=](QdqNet& net) {
         const auto x = net.qdq<std::int8_t>("x", 0.02F, -11);
         const auto y = conv(net, x, {6, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1});
         net.output(net.qdq<std::int8_t>(net.op("Add", "add", {x, y}), 0.05F, 4));
       },
       0.05F},
      {"ConvAddedToOneValuePerChannel",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto mean = net.qdq(net.op("GlobalAveragePool", "gap", {x}), 0.01F, 110);
         const auto y = conv(net, x, {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
         net.output(net.qdq(net.op("Add", "add", {y, mean}), 0.05F, 120));
       },
       0.05F},
      {"ConvAddedToAConstant",
       [=](QdqNet& net) {
         net.constant("c_q", random_integers<std::uint8_t>({6, 1, 7}, 0, 255, 21));
         net.constant("c_s", Tensor::scalar<float>(0.01F));
         net.constant("c_z", Tensor::scalar<std::uint8_t>(100));
         const auto c = net.op("DequantizeLinear", "c", {"c_q", "c_s", "c_z"});
         const auto y = conv(net, in(net), {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
         net.output(net.qdq(net.op("Add", "add", {c, y}), 0.05F, 120));
       },
       0.05F},
      {"AddOfAConstantPerChannel",
       [=](QdqNet& net) {
         net.constant("c_q", random_integers<std::uint8_t>({1, 6, 1, 1}, 0, 255, 21));
         net.constant("c_s", Tensor::scalar<float>(0.01F));
         net.constant("c_z", Tensor::scalar<std::uint8_t>(100));
         const auto c = net.op("DequantizeLinear", "c", {"c_q", "c_s", "c_z"});
         net.output(net.qdq(net.op("Add", "add", {in(net), c}), 0.03F, 110));
       },
       0.03F},
      {"MulByAGatePerChannel",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto gap = net.qdq(net.op("GlobalAveragePool", "gap", {x}), 0.01F, 110);
         const auto gate = net.qdq(net.op("Sigmoid", "gate", {gap}), 1.0F / 255.0F, 0);
         net.output(net.qdq(net.op("Mul", "mul", {x, gate}), 0.02F, 117));
       },
       0.02F},
      {"ConcatOfUnequalScales",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto y = net.qdq(net.op("HardSwish", "act", {x}), 0.013F, 30);
         net.output(net.qdq(net.op("Concat", "concat", {x, y, x}, {{"axis", std::int64_t{1}}}),
                            0.02F, 117));
       },
       0.02F},
      {"Pools",
       [=](QdqNet& net) {
         const auto top = net.qdq(net.op("MaxPool", "max", {in(net)},
                                         {{"kernel_shape", Ints{3, 2}},
                                          {"pads", Ints{1, 0, 1, 1}},
                                          {"strides", Ints{2, 1}}}),
                                  0.02F, 117);
         net.output(net.qdq(net.op("AveragePool", "mean", {top},
                                   {{"kernel_shape", Ints{3, 3}},
                                    {"pads", Ints{1, 1, 1, 1}},
                                    {"count_include_pad", std::int64_t{1}}}),
                            0.01F, 100));
       },
       0.01F},
      {"GlobalPoolWithFloatOutput",
       [=](QdqNet& net) { net.output(net.op("GlobalAveragePool", "gap", {in(net)})); }, 0.0F},
      {"MovementsBetweenEqualScales",
       [=](QdqNet& net) {
         net.constant("pads", Tensor::of<std::int64_t>({8}, {0, 1, 0, 2, 0, 0, 1, 0}));
         const auto padded = net.qdq(net.op("Pad", "pad", {in(net), "pads"}), 0.02F, 117);
         const auto turned = net.qdq(
             net.op("Transpose", "turn", {padded}, {{"perm", Ints{0, 3, 1, 2}}}), 0.02F, 117);
         net.constant("starts", Tensor::of<std::int64_t>({1}, {1}));
         net.constant("ends", Tensor::of<std::int64_t>({1}, {8}));
         net.constant("axes", Tensor::of<std::int64_t>({1}, {1}));
         net.constant("steps", Tensor::of<std::int64_t>({1}, {2}));
         net.output(net.qdq(net.op("Slice", "slice", {turned, "starts", "ends", "axes", "steps"}),
                            0.02F, 117));
       },
       0.02F},
      {"RequantizationToAnotherScale",
       [=](QdqNet& net) { net.output(net.qdq(net.op("Identity", "same", {in(net)}), 0.031F, 60)); },
       0.031F},
      {"FunctionsOfOneElement",
       [=](QdqNet& net) {
         const auto a = net.qdq(net.op("HardSigmoid", "a", {in(net)}), 1.0F / 255.0F, 0);
         const auto b = net.qdq(net.op("Tanh", "b", {a}), 1.0F / 255.0F, 0);
         net.output(net.qdq(net.op("LeakyRelu", "c", {b}), 1.0F / 255.0F, 0));
       },
       1.0F / 255.0F},
      {"SiluAsOneTable",
       [=](QdqNet& net) {
         const auto x = in(net);
         net.output(net.qdq(net.op("Mul", "silu", {x, net.op("Sigmoid", "gate", {x})}), 0.01F, 28));
       },
       0.01F},
      {"HardSwishAsOneTable",
       [=](QdqNet& net) {
         for (const float number : {0.0F, 3.0F, 6.0F}) {
           net.constant("c" + std::to_string(static_cast<int>(number)),
                        Tensor::scalar<float>(number));
         }
         const auto x = in(net);
         const auto gate =
             net.op("Clip", "clip", {net.op("Add", "shifted", {x, "c3"}), "c0", "c6"});
         net.output(
             net.qdq(net.op("Div", "swish", {net.op("Mul", "mul", {x, gate}), "c6"}), 0.01F, 40));
       },
       0.01F},
      {"PReluWithOneSlopeOfManyAxes",
       [=](QdqNet& net) {
         net.constant("slope", Tensor::of<float>({1, 1, 1}, {0.3F}));
         net.output(net.qdq(net.op("PRelu", "prelu", {in(net), "slope"}), 0.02F, 60));
       },
       0.02F},
      {"PReluWithATablePerChannel",
       [=](QdqNet& net) {
         net.constant("slope", random_floats({6, 1, 1}, 22, -0.5F, 0.5F));
         net.output(net.qdq(net.op("PRelu", "prelu", {in(net), "slope"}), 0.02F, 60));
       },
       0.02F},
      {"SiluWithAQuantizedSigmoid",
       [=](QdqNet& net) {
         const auto x = in(net);
         const auto gate = net.qdq(net.op("Sigmoid", "gate", {x}), 1.0F / 256.0F, 0);
         net.output(net.qdq(net.op("Mul", "silu", {x, gate}), 0.01F, 40));
       },
       0.01F},
      {"FunctionOfAQuantizedFunction",
       [=](QdqNet& net) {
         const auto gate = net.qdq(net.op("Sigmoid", "gate", {in(net)}), 1.0F / 256.0F, 0);
         net.output(net.qdq(net.op("Exp", "exp", {gate}), 0.011F, 0));
       },
       0.011F},
      {"ScaledSiluBehindAConvolution",
       [=](QdqNet& net) {  // channels last
         net.constant("before", random_floats({9, 1, 1}, 23, 0.1F, 1.0F));
         net.constant("behind", random_floats({1, 9, 1, 1}, 24, 1.0F, 8.0F));
         const auto c =
             net.qdq(conv(net, in(net), {9, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1}), 0.05F, 120);
         const auto x = net.op("Mul", "scaled", {c, "before"});
         const auto y = net.op("Mul", "silu", {x, net.op("Sigmoid", "gate", {x})});
         net.output(net.qdq(net.op("Mul", "result", {"behind", y}), 0.05F, 40));
       },
       0.05F},
  };
}

class IntegerLowering : public ::testing::TestWithParam<ClusterCase> {};

TEST_P(IntegerLowering, AgreesWithTheSpecification) {
  QdqNet net;
  net.input("x", {2, 6, 9, 7});
  GetParam().build(net);
  net.graph.check();
  const Executor executor(net.graph);
  const auto integer = executor.compile({}, {.threads = 2});
  const auto reference = executor.compile({}, {.lowering = Lowering::kReference});
  for (const StepInfo& step : integer->steps()) {
    const bool edge = step.op_type == "QuantizeLinear" || step.op_type == "DequantizeLinear" ||
                      step.op_type == "Reorder";
    EXPECT_TRUE(step.integer || edge) << step.op_type << " '" << step.node << "' stayed in FP32";
  }
  const Tensor x = random_floats({2, 6, 9, 7}, 5, -2.5F, 2.9F);
  const std::vector<TensorView> inputs{x};
  Workspace fast_workspace;
  Workspace slow_workspace;
  const auto fast = integer->run(inputs, fast_workspace)[0].values<float>();
  const auto slow = reference->run(inputs, slow_workspace)[0].values<float>();
  ASSERT_EQ(fast.size(), slow.size());
  std::size_t off = 0;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    const float difference = std::abs(fast[i] - slow[i]);
    // A float sum close to a tie may round to the neighbouring integer, never further.
    const float allowed =
        GetParam().step > 0.0F ? 1.01F * GetParam().step : 1e-4F + 1e-4F * std::abs(slow[i]);
    ASSERT_LE(difference, allowed) << "element " << i;
    if (GetParam().step > 0.0F && difference > 0.5F * GetParam().step) ++off;
  }
  EXPECT_LE(off * 50, fast.size()) << off << " of " << fast.size() << " are one step off";
}

INSTANTIATE_TEST_SUITE_P(Clusters, IntegerLowering, ::testing::ValuesIn(cluster_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

/// The steps of the plan for a graph.
std::vector<StepInfo> steps_of(QdqNet& net) {
  net.graph.check();
  return Executor(net.graph).compile({})->steps();
}

bool has_step(const std::vector<StepInfo>& steps, std::string_view op_type) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const StepInfo& step) { return step.op_type == op_type; });
}

TEST(IntegerLowering, AddsAResidualInsideTheConvolution) {
  QdqNet net;
  net.input("x", {1, 6, 9, 7});
  const auto x = net.qdq("x", 0.02F, 117);
  const auto y = conv(net, x, {6, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1});
  net.output(net.qdq(net.op("Add", "add", {y, x}), 0.05F, 3));
  EXPECT_FALSE(has_step(steps_of(net), "Add"));
}

TEST(IntegerLowering, LeavesAnAddThatIsNoResidualToItself) {
  {  // The convolution's result is read twice.
    QdqNet net;
    net.input("x", {1, 6, 9, 7});
    const auto x = net.qdq("x", 0.02F, 117);
    const auto y = conv(net, x, {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
    net.output(net.qdq(net.op("Add", "add", {y, x}), 0.05F, 3));
    net.output(net.op("Relu", "relu", {y}));
    EXPECT_TRUE(has_step(steps_of(net), "Add"));
  }
  {  // The convolution's result is broadcast, and not the other operand.
    QdqNet net;
    net.input("x", {1, 6, 9, 7});
    const auto x = net.qdq("x", 0.02F, 117);
    const auto mean = net.qdq(net.op("GlobalAveragePool", "gap", {x}), 0.01F, 110);
    const auto y = conv(net, mean, {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
    net.output(net.qdq(net.op("Add", "add", {y, x}), 0.05F, 3));
    EXPECT_TRUE(has_step(steps_of(net), "Add"));
  }
  {  // The scales are too far apart for a float.
    QdqNet net;
    net.input("x", {1, 6, 9, 7});
    const auto x = net.qdq("x", 1e20F, 117);
    const auto y = conv(net, x, {6, 6, 1, 1}, 1, {0, 0, 0, 0}, {1, 1});
    net.output(net.qdq(net.op("Add", "add", {y, x}), 1e-15F, 3));
    const std::vector<StepInfo> steps = steps_of(net);
    EXPECT_TRUE(std::ranges::any_of(steps, [](const StepInfo& step) {
      return step.kernel.find("chain of 1") != std::string::npos;  // the sum is one of floats
    }));
  }
}

// x * Sigmoid(x) with a quantized Sigmoid depends on the bytes of x alone.
TEST(IntegerLowering, JoinsOperatorsOfOneTensorInATable) {
  const auto silu = [](const std::string& gated) {
    QdqNet net;
    net.input("x", {1, 6, 9, 7});
    net.input("y", {1, 6, 9, 7});
    const auto x = net.qdq("x", 0.02F, 117);
    const auto gate =
        net.qdq(net.op("Sigmoid", "gate", {gated == "x" ? x : net.qdq(gated, 0.02F, 117)}),
                1.0F / 256.0F, 0);
    net.output(net.qdq(net.op("Mul", "silu", {x, gate}), 0.01F, 40));
    net.graph.check();
    return net;
  };
  const auto run = [](const Plan& plan) {
    const Tensor x = random_floats({1, 6, 9, 7}, 5, -2.5F, 2.9F);
    const std::vector<TensorView> inputs{x, x};
    Workspace workspace;
    const auto values = plan.run(inputs, workspace)[0].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  for (const Requantization how : {Requantization::kFloat, Requantization::kSingle}) {
    const CompileOptions options{.requantization = how};
    const auto joined = Executor(silu("x").graph).compile({}, options);
    // The operators of two tensors, which happen to be equal.
    const auto apart = Executor(silu("y").graph).compile({}, options);
    EXPECT_TRUE(has_step(apart->steps(), "Sigmoid"));
    EXPECT_EQ(has_step(joined->steps(), "Sigmoid"), how != Requantization::kFloat);
    EXPECT_EQ(run(*joined), run(*apart));
  }
}

TEST(IntegerLowering, LeavesAnObservedTensorWhole) {
  QdqNet net;
  net.input("x", {1, 6, 9, 7});
  const auto y = conv(net, net.qdq("x", 0.02F, 117), {5, 6, 3, 3}, 1, {1, 1, 1, 1}, {1, 1});
  net.output(net.qdq(net.op("Relu", "relu", {y}), 0.05F, 3));
  const Executor executor(net.graph);
  const auto plan = executor.compile({}, {.observe = {"conv_out"}});
  const Tensor x = random_floats({1, 6, 9, 7}, 5, -2.0F, 2.0F);
  const std::vector<TensorView> inputs{x};
  Workspace workspace;
  float lowest = 0.0F;
  plan->run(inputs, workspace, [&](std::size_t index, const TensorView& tensor) {
    EXPECT_EQ(index, 0U);
    for (const float value : tensor.values<float>()) lowest = std::min(lowest, value);
  });
  EXPECT_LT(lowest, 0.0F) << "the tensor before the Relu was not seen";
}

TEST(IntegerLowering, KeepsANodeWhoseSumsCouldOverflowInFloat) {
  QdqNet net;
  net.input("x", {1, 6, 9, 7});
  const auto w = net.weights("w", {5, 6, 1, 1}, 0);
  const std::string b = net.constant("b", Tensor::of<float>({5}, {1e7F, 0.0F, 0.0F, 0.0F, 0.0F}));
  net.output(net.qdq(net.op("Conv", "conv", {net.qdq("x", 1e-6F, 117), w, b}), 0.05F, 3));
  const auto plan = Executor(net.graph).compile({});
  for (const StepInfo& step : plan->steps()) EXPECT_FALSE(step.op_type == "Conv" && step.integer);
}

// Only QLinearConv may wrap. A convolution of reals gives reals, and an activation after it comes
// before any rounding.
TEST(IntegerLowering, WrapsNoSumsOfReals) {
  for (const std::string_view behind : {"", "Relu"}) {
    QdqNet net;
    net.input("x", {1, 1, 1, 4});
    net.constant("w", Tensor::of<std::int8_t>({1, 1, 1, 1}, {127}));
    net.constant("w_s", Tensor::of<float>({1}, {4.7e-5F}));
    net.constant("w_z", Tensor::of<std::int8_t>({1}, {0}));
    net.constant("b", Tensor::of<std::int32_t>({1}, {2147483600}));
    net.constant("b_s", Tensor::of<float>({1}, {0.001F * 4.7e-5F}));
    const std::map<std::string, Attribute, std::less<>> axis{{"axis", std::int64_t{0}}};
    const auto w = net.op("DequantizeLinear", "w_real", {"w", "w_s", "w_z"}, axis);
    const auto b = net.op("DequantizeLinear", "b_real", {"b", "b_s"}, axis);
    auto y = net.op("Conv", "conv", {net.qdq("x", 0.001F, 120), w, b});
    if (!behind.empty()) y = net.qdq(net.op("Relu", "relu", {y}), 1.0F, 0);
    net.output(y);
    const Tensor x = Tensor::of<float>({1, 1, 1, 4}, {-0.1F, 0.0F, 0.05F, 0.13F});
    const std::vector<TensorView> inputs{x};
    Workspace workspace;
    const auto plan = Executor(net.graph).compile({});
    for (const float value : plan->run(inputs, workspace)[0].values<float>()) {
      EXPECT_NEAR(value, 100.9F, 0.5F) << behind;  // 2^31 * 0.001 * 4.7e-5
    }
  }
}

TEST(IntegerLowering, LeavesAFunctionInFloatWhoseConstantAddsAnAxis) {
  QdqNet net;
  net.input("x", {2, 6, 9, 7});
  net.constant("one", Tensor::of<float>({1, 1, 1, 1, 1}, {1.0F}));
  const auto x = net.qdq("x", 0.02F, 117);
  const auto y = net.op("Sigmoid", "s", {net.op("Add", "a", {x, "one"})});
  net.output(net.qdq(y, 1.0F / 255.0F, 0));
  net.graph.check();
  const Executor executor(net.graph);
  const auto plan = executor.compile({});
  EXPECT_EQ(plan->outputs()[0].shape, (Shape{1, 2, 6, 9, 7}));
  for (const StepInfo& step : plan->steps()) {
    if (step.node == "s") {
      EXPECT_FALSE(step.integer);
    }
  }
}

// With a single constant a file can demand one table per channel for many nodes.
TEST(IntegerLowering, BoundsTheTablesOfAPlan) {
  constexpr std::int64_t kChannels = 4096;  // one MiB of tables per node
  QdqNet net;
  net.input("x", {1, kChannels, 1, 1});
  net.constant("slope", random_floats({kChannels, 1, 1}, 22, -0.5F, 0.5F));
  std::string last = net.qdq("x", 0.02F, 117);
  for (int i = 0; i < 70; ++i) {
    last = net.qdq(net.op("PRelu", "p" + std::to_string(i), {last, "slope"}), 0.02F, 60);
  }
  net.output(last);
  std::int64_t integer = 0;
  for (const StepInfo& step : steps_of(net)) integer += step.op_type == "PRelu" && step.integer;
  EXPECT_EQ(integer, 64);
}

}  // namespace
}  // namespace qtool
