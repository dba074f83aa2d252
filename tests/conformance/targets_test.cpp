// Checks for every row of every target that each node runs as quantize() reports it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "qtool/calib/table.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "quantize/follow_plan.h"
#include "quantize/placement/placement.h"
#include "support/quantize_in.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor coarse_counting(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  float next = -0.5F;
  for (float& value : tensor.values<float>()) value = next += 0.01F;
  return tensor;
}

std::string ints(Net& net, const std::string& name, const Ints& values) {
  return net.constant(name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())},
                                                     std::span<const std::int64_t>(values)));
}

/// Writes the node 'op' that reads x [1, 4, 8, 8], the result of a convolution.
using Recipe = std::function<std::string(Net& net, const std::string& x)>;

Recipe plain(const std::string& op_type) {
  return [op_type](Net& net, const std::string& x) { return net.op(op_type, "op", {x}); };
}

Recipe with_two_inputs(const std::string& op_type) {
  return [op_type](Net& net, const std::string& x) {
    return net.op(op_type, "op", {x, net.conv("other", x, 4)});
  };
}

Recipe with_ints(const std::string& op_type, const Ints& values) {
  return [op_type, values](Net& net, const std::string& x) {
    return net.op(op_type, "op", {x, ints(net, "ints", values)});
  };
}

std::string matrix(Net& net, const std::string& x) {
  const std::string flat = net.op("Flatten", "flat", {x});
  return net.op("Relu", "relu", {flat});
}

// An operator that gives positions, and a Cast of its result to float.
Recipe ranking(const std::string& op_type) {
  return [op_type](Net& net, const std::string& x) {
    const auto best = net.op(op_type, "op", {x}, {{"axis", std::int64_t{1}}});
    return net.op("Cast", "real", {best}, {{"to", std::int64_t{1}}});
  };
}

// Each row of the image is a sequence of the batch, each channel a step.
Recipe recurrent(const std::string& op_type, std::int64_t gates) {
  return [op_type, gates](Net& net, const std::string& x) {
    constexpr std::int64_t kHidden = 6;
    net.constant("w", coarse_counting({1, gates * kHidden, 8}));
    net.constant("r", coarse_counting({1, gates * kHidden, kHidden}));
    const std::string steps = net.op("Squeeze", "steps", {x, ints(net, "axes", {0})});
    return net.op(op_type, "op", {steps, "w", "r"}, {{"hidden_size", kHidden}});
  };
}

/// A node for each operator that a target may list.
const std::map<std::string, Recipe, std::less<>>& recipes() {
  const std::map<std::string, Attribute, std::less<>> pool = {{"kernel_shape", Ints{2, 2}},
                                                              {"strides", Ints{2, 2}}};
  static const std::map<std::string, Recipe, std::less<>> all = {
      {"Add", with_two_inputs("Add")},
      {"ArgMax", ranking("ArgMax")},
      {"ArgMin", ranking("ArgMin")},
      {"AveragePool",
       [pool](Net& net, const std::string& x) { return net.op("AveragePool", "op", {x}, pool); }},
      {"Clip",
       [](Net& net, const std::string& x) {
         net.constant("low", Tensor::scalar(-0.5F));
         net.constant("high", Tensor::scalar(0.5F));
         return net.op(
             "Clip", "op",
             {net.op("MaxPool", "pool", {x}, {{"kernel_shape", Ints{1, 1}}}), "low", "high"});
       }},
      {"Concat",
       [](Net& net, const std::string& x) {
         return net.op("Concat", "op", {x, net.conv("other", x, 4)}, {{"axis", std::int64_t{1}}});
       }},
      {"Conv", [](Net& net, const std::string& x) { return net.conv("op", x, 4); }},
      {"ConvTranspose",
       [](Net& net, const std::string& x) {
         net.constant("up_w", coarse_counting({4, 3, 2, 2}));
         return net.op("ConvTranspose", "op", {x, "up_w"}, {{"strides", Ints{2, 2}}});
       }},
      {"DepthToSpace",
       [](Net& net, const std::string& x) {
         return net.op("DepthToSpace", "op", {x}, {{"blocksize", std::int64_t{2}}});
       }},
      {"Div", with_two_inputs("Div")},
      {"Flatten", plain("Flatten")},
      {"GRU", recurrent("GRU", 3)},
      {"Gather",
       [](Net& net, const std::string& x) {
         return net.op("Gather", "op", {x, ints(net, "ints", {2, 1})}, {{"axis", std::int64_t{1}}});
       }},
      {"Gemm",
       [](Net& net, const std::string& x) {
         net.constant("m", coarse_counting({256, 5}));
         return net.op("Gemm", "op", {matrix(net, x), "m"});
       }},
      {"GlobalAveragePool", plain("GlobalAveragePool")},
      {"HardSigmoid", plain("HardSigmoid")},
      {"HardSwish", plain("HardSwish")},
      {"InstanceNormalization",
       [](Net& net, const std::string& x) {
         net.constant("scale", coarse_counting({4}));
         net.constant("bias", coarse_counting({4}));
         return net.op("InstanceNormalization", "op", {x, "scale", "bias"});
       }},
      {"LSTM", recurrent("LSTM", 4)},
      {"LeakyRelu", plain("LeakyRelu")},
      {"MatMul",
       [](Net& net, const std::string& x) {
         net.constant("m", coarse_counting({256, 5}));
         return net.op("MatMul", "op", {matrix(net, x), "m"});
       }},
      {"Max", with_two_inputs("Max")},
      {"MaxPool",
       [pool](Net& net, const std::string& x) { return net.op("MaxPool", "op", {x}, pool); }},
      {"Min", with_two_inputs("Min")},
      {"Mul", with_two_inputs("Mul")},
      {"Pad", with_ints("Pad", {0, 0, 1, 1, 0, 0, 1, 1})},
      {"ReduceMean",
       [](Net& net, const std::string& x) {
         return net.op("ReduceMean", "op", {x}, {{"axes", Ints{2, 3}}});
       }},
      {"RNN", recurrent("RNN", 1)},
      {"Relu",
       [](Net& net, const std::string& x) {
         return net.op("Relu", "op",
                       {net.op("MaxPool", "pool", {x}, {{"kernel_shape", Ints{1, 1}}})});
       }},
      {"Reshape", with_ints("Reshape", {1, 2, 8, 16})},
      {"Resize",
       [](Net& net, const std::string& x) {
         net.constant("scales", Tensor::of<float>({4}, {1.0F, 1.0F, 2.0F, 2.0F}));
         return net.op("Resize", "op", {x, "", "scales"});
       }},
      {"Sigmoid", plain("Sigmoid")},
      {"Slice",
       [](Net& net, const std::string& x) {
         return net.op("Slice", "op",
                       {x, ints(net, "from", {1}), ints(net, "to", {3}), ints(net, "axes", {1})});
       }},
      {"SpaceToDepth",
       [](Net& net, const std::string& x) {
         return net.op("SpaceToDepth", "op", {x}, {{"blocksize", std::int64_t{2}}});
       }},
      {"Split",
       [](Net& net, const std::string& x) {
         return net.op("Split", "op", {x, ints(net, "ints", {4})}, {{"axis", std::int64_t{1}}});
       }},
      {"Sub", with_two_inputs("Sub")},
      {"Squeeze", with_ints("Squeeze", {0})},
      {"Tanh", plain("Tanh")},
      {"Transpose",
       [](Net& net, const std::string& x) {
         return net.op("Transpose", "op", {x}, {{"perm", Ints{0, 1, 3, 2}}});
       }},
      {"Unsqueeze", with_ints("Unsqueeze", {0})},
  };
  return all;
}

Shape shape_of(Net net, const std::string& result) {
  net.output(result);
  return Executor(prepare(net.graph)).compile({})->outputs()[0].shape;
}

/// Puts the node between a convolution and a matrix product or another convolution, so that its
/// producer and its consumer both run on integers.
Net net_around(const Recipe& recipe) {
  Net net;
  std::string x = recipe(net, net.conv("stem", net.input("x", {1, 4, 8, 8}), 4));
  Shape shape = shape_of(net, x);
  if (shape.rank() == 4) {
    net.constant("head_w", coarse_counting({3, shape[1], 1, 1}));
    net.output(net.op("Conv", "head", {x, "head_w"}));
    return net;
  }
  if (shape.rank() != 2) {
    x = net.op("Flatten", "row", {x});
    shape = shape_of(net, x);
  }
  net.constant("head_w", coarse_counting({shape[1], 3}));
  net.output(net.op("Gemm", "head", {x, "head_w"}));
  return net;
}

CalibrationTable range_table(const Graph& prepared, const Target& target) {
  CalibrationTable table;
  for (const std::string& name : tensors_to_calibrate(prepared, target)) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, target.activations);
    entry.dtype = target.activations.dtype;
    table.activations.push_back(entry);
  }
  return table;
}

bool is_integer(NodeRole role) { return role != NodeRole::kFloat && role != NodeRole::kNotReal; }

/// The steps of the plan that carry the name of a node.
std::vector<StepInfo> steps_of(const Plan& plan, const std::string& node) {
  std::vector<StepInfo> steps;
  for (const StepInfo& step : plan.steps()) {
    if (step.node == node) steps.push_back(step);
  }
  return steps;
}

class TargetRows : public ::testing::TestWithParam<std::string_view> {};

TEST_P(TargetRows, RunAsTheyAreReported) {
  const Target& target = find_target(GetParam());
  for (const std::string_view op : target.ops) {
    SCOPED_TRACE(to_text("target ", target.name, ", operator ", op));
    const auto recipe = recipes().find(op);
    ASSERT_NE(recipe, recipes().end()) << "this test needs a recipe for the operator";
    const Graph prepared = prepare(net_around(recipe->second).graph);
    StaticOptions options;
    options.target = target.name;
    const Quantized emitted = quantize(prepared, range_table(prepared, target), options);
    QuantizeReport report = emitted.report;
    const Graph saved = load_onnx_bytes(save_onnx_bytes(emitted.graph), "", "int8");
    const Executor executor(prepare(saved));
    const auto plan = executor.compile({});

    const NodeReport* placed = report.find("op");
    ASSERT_NE(placed, nullptr);
    EXPECT_TRUE(is_integer(placed->role)) << placed->reason;
    EXPECT_EQ(measure_coverage(saved, {}, report).macs, coverage_of(*plan).macs);
    for (const NodeReport& node : report.nodes) {
      SCOPED_TRACE(node.node);
      for (const StepInfo& step : steps_of(*plan, node.node)) {
        EXPECT_EQ(step.integer, is_integer(node.role)) << step.kernel;
      }
      EXPECT_EQ(node.role == NodeRole::kFloat, !node.reason.empty());
    }
    // TensorRT moves Q/DQ pairs across operators by itself. For the other targets every row must be
    // an integer operator that qtool has.
    if (target.constants == ConstantForm::kReals) continue;
    EXPECT_TRUE(is_integer(report.find("op")->role)) << report.find("op")->reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TargetRows, ::testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const Target& target : targets()) names.push_back(target.name);
                           return names;
                         }()),
                         [](const auto& row) {
                           std::string name(row.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// In the other modes the report is about weights, so measure_coverage() must not change the roles
// and reasons in it.
TEST(MeasureCoverage, LeavesTheReportsOfOtherModesAsTheyAre) {
  Net net;
  net.output(net.op("LeakyRelu", "act", {net.conv("conv", net.input("x", {1, 2, 8, 8}))}));
  for (const QuantizeMode mode : {QuantizeMode::kDynamic, QuantizeMode::kWeightOnly}) {
    const Quantized emitted = quantize_in(mode, prepare(net.graph));
    const QuantizeReport& before = emitted.report;
    QuantizeReport report = before;
    const Coverage coverage = measure_coverage(emitted.graph, {}, report);
    EXPECT_EQ(coverage.convolutions, 1);
    EXPECT_EQ(coverage.integer_convolutions, mode == QuantizeMode::kDynamic ? 1 : 0);
    ASSERT_EQ(report.nodes.size(), before.nodes.size());
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
      EXPECT_EQ(report.nodes[i].role, before.nodes[i].role);
      EXPECT_EQ(report.nodes[i].reason, before.nodes[i].reason);
    }
  }
}

TEST(FollowPlan, CorrectsBothKindsOfMistake) {
  QuantizeReport report;
  report.nodes.push_back({"a", "Resize", NodeRole::kPassing, {}});
  report.nodes.push_back({"b", "Tanh", NodeRole::kFloat, "target 'cpu' does not list Tanh"});
  report.nodes.push_back({"c", "Conv", NodeRole::kInteger, {}});
  const auto step = [](const std::string& node, const std::string& op, bool integer) {
    StepInfo info;
    info.node = node;
    info.op_type = op;
    info.integer = integer;
    return info;
  };
  follow_plan({step("a", "Resize", false), step("b", "Tanh", true), step("c", "Conv", true)},
              report);
  EXPECT_EQ(report.find("a")->role, NodeRole::kFloat);
  EXPECT_EQ(report.find("a")->reason, "no integer kernel for this Resize");
  EXPECT_EQ(report.find("b")->role, NodeRole::kInteger);
  EXPECT_EQ(report.find("b")->reason, "");
  EXPECT_EQ(report.find("c")->role, NodeRole::kInteger);
}

}  // namespace
}  // namespace qtool
