// Checks the promise of docs/adding.md: a new operator, kernel, method, format or rewrite needs
// only its file and the lines of its recipe, and then works wherever its kind is used.
// CMakeLists.txt adds the lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calib/decide.h"
#include "calib/statistics.h"
#include "graph/op_traits.h"
#include "kernels/add/add.h"
#include "kernels/pool/pool.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/method.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/model_format.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/pipeline/make_model.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;

/// Two inputs x and y of shape [1, 2, 4, 4]. pair() puts a Q/DQ pair after a tensor.
struct TwoInputs : Net {
  TwoInputs() {
    input("x", {1, 2, 4, 4});
    input("y", {1, 2, 4, 4});
  }
  std::string pair(const std::string& real, float scale, std::uint8_t zero_point) {
    const std::string s = constant(real + "_s", Tensor::scalar<float>(scale));
    const std::string z = constant(real + "_z", Tensor::scalar<std::uint8_t>(zero_point));
    const std::string q = op("QuantizeLinear", real + "_q", {real, s, z});
    return op("DequantizeLinear", real + "_dq", {q, s, z});
  }
};

struct Outcome {
  std::vector<float> values;
  std::vector<StepInfo> steps;

  [[nodiscard]] const StepInfo* step_of(std::string_view node) const {
    for (const StepInfo& step : steps) {
      if (step.node == node) return &step;
    }
    return nullptr;
  }
};

Outcome run(const Graph& graph, Lowering lowering = Lowering::kInteger) {
  const Executor executor(graph);
  CompileOptions options;
  options.lowering = lowering;
  const auto plan = executor.compile({}, options);
  const Tensor x = random_floats({1, 2, 4, 4}, 1);
  const Tensor y = random_floats({1, 2, 4, 4}, 2);
  std::vector<TensorView> inputs{x, y};
  inputs.resize(plan->inputs().size());
  Workspace workspace;
  const auto values = plan->run(inputs, workspace)[0].values<float>();
  return {{values.begin(), values.end()}, plan->steps()};
}

TEST(AnElementwiseOperator, RunsInFp32AndAsATableOnIntegers) {
  TwoInputs net;
  net.output(net.op("Cube", "cube", {"x"}));
  const Tensor x = random_floats({1, 2, 4, 4}, 1);
  std::vector<float> expected;
  for (const float value : x.values<float>()) expected.push_back(value * value * value);
  EXPECT_EQ(run(net.graph).values, expected);
  EXPECT_FALSE(run(net.graph).step_of("cube")->integer);

  TwoInputs integers;
  integers.output(
      integers.pair(integers.op("Cube", "cube", {integers.pair("x", 0.01F, 128)}), 0.008F, 128));
  const Outcome found = run(integers.graph);
  ASSERT_NE(found.step_of("cube"), nullptr);
  EXPECT_TRUE(found.step_of("cube")->integer);
  EXPECT_EQ(found.values, run(integers.graph, Lowering::kReference).values);
}

TEST(AnOperator, IsPlacedWhereATargetListsIt) {
  TwoInputs net;
  net.output(net.conv("c", net.op("Distance", "distance", {net.op("Cube", "cube", {"x"}), "y"})));
  const auto role_of = [&](std::string_view target, std::string_view node) {
    for (const NodePlacement& placed : place(net.graph, find_target(target)).nodes) {
      if (name_of(net.graph, placed.id) == node) return placed.role;
    }
    return NodeRole::kNotReal;
  };
  EXPECT_EQ(role_of("qtool", "cube"), NodeRole::kInteger);
  EXPECT_EQ(role_of("qtool", "distance"), NodeRole::kInteger);
  EXPECT_EQ(role_of("cpu", "cube"), NodeRole::kFloat);
}

TEST(AQuantizedOperator, ComputesWhatTheReferenceDoes) {
  TwoInputs net;
  net.output(net.pair(
      net.op("Distance", "distance", {net.pair("x", 0.01F, 120), net.pair("y", 0.009F, 130)}),
      0.007F, 3));
  const Outcome found = run(net.graph);
  ASSERT_NE(found.step_of("distance"), nullptr);
  EXPECT_TRUE(found.step_of("distance")->integer);
  EXPECT_EQ(found.step_of("distance")->op_type, "Distance");
  EXPECT_EQ(found.values, run(net.graph, Lowering::kReference).values);
}

TEST(AGraphPass, IsPartOfPreparing) {
  TwoInputs net;
  const auto inner = net.op("Neg", "inner", {"x"});
  net.output(net.op("Relu", "relu", {net.op("Neg", "outer", {inner})}));
  const Graph prepared = prepare(net.graph);
  EXPECT_EQ(count_ops(prepared, "Neg"), 0U);
  EXPECT_EQ(prepared.node(node_named(prepared, "relu")).inputs[0], prepared.find_value("x"));
  EXPECT_EQ(prepared.info.aliases.at("outer_out"), "x");
}

#if defined(__x86_64__)  // the row is in the list of this architecture
TEST(AnInstructionSet, IsChosenWhereAFamilyHasAKernelForIt) {
  EXPECT_EQ(AddKernel().kernel(), "toy");
  EXPECT_EQ(AddKernel(KernelSelection{detect_cpu(), "toy"}).kernel(), "toy");
  EXPECT_EQ(AddKernel(KernelSelection{detect_cpu(), "portable"}).kernel(), "portable");
  // A family without a kernel of this name uses its best lower one.
  EXPECT_EQ(select_kernel(pool_kernels(), KernelSelection{{}, "toy"}).name, "portable");
}

TEST(AKernel, RunsInTheOperatorsOfItsFamilyWithTheBitsOfTheReference) {
  TwoInputs net;
  net.output(net.pair(net.op("Add", "sum", {net.pair("x", 0.01F, 120), net.pair("y", 0.009F, 130)}),
                      0.02F, 125));
  EXPECT_EQ(run(net.graph).step_of("sum")->kernel, "toy");
  std::vector<std::uint8_t> a(65536);
  std::vector<std::uint8_t> b(65536);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i);
    b[i] = static_cast<std::uint8_t>(i >> 8U);
  }
  const AddParams params{0.5F, 0.25F, 120, 130, 7, 10, 250};
  std::vector<std::uint8_t> expected(a.size());
  std::vector<std::uint8_t> found(a.size());
  reference_add(params, a.data(), b.data(), expected.data(), std::ssize(a));
  AddKernel().run(params, a.data(), b.data(), found.data(), std::ssize(a));
  EXPECT_EQ(found, expected);
}
#endif

TEST(ACalibrationMethod, DecidesUnderItsName) {
  Collection collection;
  collection.tensors.push_back({"x", "", {}});
  const Tensor x = random_floats({4, 2, 8, 8}, 3, -2.0F, 6.0F);
  collection.tensors[0].statistics.observe(x);
  const Range observed = collection.tensors[0].statistics.range();
  const CalibrationTable table = decide(collection, "Half", {}, 1);
  EXPECT_EQ(table.method, "half");
  ASSERT_EQ(table.activations.size(), 1U);
  EXPECT_EQ(table.activations[0].range, (Range{observed.min / 2.0F, observed.max / 2.0F}));
  EXPECT_THAT(method_names(), testing::Contains("half"));
}

TEST(ATableFormat, IsFoundByNameAndByContent) {
  CalibrationTable table;
  ActivationEntry entry;
  entry.tensor = "x";
  entry.dtype = DType::kInt8;
  entry.range = {-2.54F, 2.54F};
  entry.affine = {0.02F, 0};
  table.activations.push_back(entry);
  const std::string text = find_format("csv").write(table, {});
  EXPECT_EQ(text, "tensor,threshold\nx,2.54\n");
  EXPECT_EQ(recognise(text, "table.csv").name, "csv");
  const TableReadResult read = find_format("csv").read(text, {});
  ASSERT_EQ(read.table.activations.size(), 1U);
  EXPECT_EQ(read.table.activations[0].affine, entry.affine);
}

TEST(AModelFormat, IsRecognisedByContentAndByItsEnding) {
  EXPECT_THAT(model_format_names(), testing::EndsWith(" or words"));
  EXPECT_TRUE(is_model("net.words"));
  const Graph graph = load_model_files({"words: Neg Relu", {}, {}}, "any name");
  const Tensor x = random_floats({1, 2, 4, 4}, 1);
  std::vector<float> expected;
  for (const float value : x.values<float>()) expected.push_back(std::max(-value, 0.0F));
  EXPECT_EQ(run(graph).values, expected);
  // Other files are still read as ONNX.
  const std::string onnx = save_onnx_bytes(graph);
  EXPECT_EQ(fingerprint(load_model_files({onnx, {}, {}}, "net.onnx")), fingerprint(graph));
  try {
    static_cast<void>(format_to_save("net.words"));
    FAIL() << "models of words are only read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("models of words are only read"));
  }
}

TEST(AWeightMethod, ChoosesScalesUnderItsName) {
  const std::vector<float> weights{0.1F, -0.9F, 0.3F};
  const Scheme scheme{DType::kInt8, 8, Symmetry::kSymmetric};
  EXPECT_EQ(find_weight_method("power_of_two").choose(weights, scheme).scale, 1.0F / 128.0F);
}

TEST(ARounding, SeesTheLayerOfEveryMode) {
  Tensor weights(DType::kFloat32, Shape{1, 2, 8, 8});
  weights.values<float>()[0] = 1.27F;
  weights.values<float>()[1] = 0.019F;
  Net net;
  net.constant("w", std::move(weights));
  net.output(net.op("Conv", "conv", {net.input("x", {1, 2, 16, 16}), "w"}));
  const auto second_weight = [&](const std::string& rounding) {
    WeightOnlyOptions options;
    options.rounding = rounding;
    const Quantized quantized = quantize(net.graph, options);
    return quantized.graph.value(quantized.graph.find_value("w_q").value())
        .constant->values<std::int8_t>()[1];
  };
  EXPECT_EQ(second_weight("nearest"), 2);
  EXPECT_EQ(second_weight("to_zero"), 1);

  Recipe recipe;
  recipe.mode = QuantizeMode::kWeightOnly;
  recipe.rounding = "to_zero";
  const Graph made = make_model(net.graph, recipe, inputs_of_table(recipe, {}, {})).int8.graph;
  EXPECT_EQ(made.value(made.find_value("w_q").value()).constant->values<std::int8_t>()[1], 1);
}

TEST(ARewrite, IsMadeByCalibrateAndQuantizeAlikeAndSaidInTableAndModel) {
  Net net;
  const auto relu = net.op("Relu", "relu", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  net.output(net.conv("c2", relu));
  const Executor fp32(net.graph);
  CalibrateOptions options;
  options.rewrites = {"halve"};
  const Calibration calibration(fp32, options);
  Collection collection;
  collection.model_fingerprint = fingerprint(fp32.graph());
  const Tensor images = random_floats({4, 2, 8, 8}, 5, 0.0F, 1.0F);
  for (const std::string& tensor : calibration.tensors()) {
    collection.tensors.push_back({tensor, "", {}});
    collection.tensors.back().statistics.observe(images);
  }
  const CalibrationTable table = calibration.decide(collection);
  EXPECT_THAT(table.rewrites.names, ElementsAre("halve"));
  EXPECT_EQ(read_table(write_table(table)), table);

  CalibrationTable plain = table;
  plain.rewrites = {};
  plain.weights.clear();
  fill_weight_entries(fp32.graph(), {}, plain);
  ASSERT_EQ(table.weights.size(), 2U);
  EXPECT_EQ(table.activations, plain.activations);  // they are the model's own
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(table.weights[0].affines.scales[c], plain.weights[0].affines.scales[c] / 2.0F);
    EXPECT_EQ(table.weights[1].affines.scales[c], plain.weights[1].affines.scales[c] * 2.0F);
  }

  const auto emitted = [&](const CalibrationTable& from, const StaticOptions& with = {}) {
    return quantize(fp32.graph(), from, with);
  };
  const auto scalar = [](const Graph& graph, std::string_view node) {
    const NodeId pair = graph.value(graph.find_value(node).value()).producer;
    return graph.value(graph.node(pair).inputs[1]).constant->values<float>()[0];
  };
  const Quantized halved = emitted(table);
  EXPECT_EQ(halved.graph.info.metadata.at(std::string(kRewritesKey)), "halve");
  ASSERT_EQ(halved.report.rewrites.size(), 1U);
  EXPECT_EQ(halved.report.rewrites[0].tensors, 1);
  EXPECT_EQ(emitted(plain).graph.info.metadata.count(std::string(kRewritesKey)), 0U);
  EXPECT_EQ(scalar(halved.graph, "relu_out_q"), scalar(emitted(plain).graph, "relu_out_q") / 2.0F);
  const auto w_scales = [](const Quantized& model) {
    const auto s = model.graph.value(model.graph.find_value("c2_w_s").value()).constant;
    return std::vector<float>(s->values<float>().begin(), s->values<float>().end());
  };
  EXPECT_EQ(w_scales(halved), table.weights[1].affines.scales);
  // The scales of the table are used only if they belong to the weights that are quantized.
  StaticOptions options_off;
  options_off.rewrites.emplace();
  EXPECT_EQ(w_scales(emitted(table, options_off)), plain.weights[1].affines.scales);
  StaticOptions options_on;
  options_on.rewrites = {"halve"};
  EXPECT_EQ(w_scales(emitted(plain, options_on)), table.weights[1].affines.scales);
  CalibrationTable by_hand = table;
  by_hand.weights[1].affines.scales[0] *= 3.0F;
  EXPECT_EQ(w_scales(emitted(by_hand)), by_hand.weights[1].affines.scales);
}

}  // namespace
}  // namespace qtool
