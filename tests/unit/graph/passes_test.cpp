#include "graph/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "base/text.h"
#include "unit/ops_of.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Tensor uniform_tensor(Shape shape, std::mt19937& random, float low = -1.0F, float high = 1.0F) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::uniform_real_distribution<float> real(low, high);
  for (float& value : tensor.values<float>()) value = real(random);
  return tensor;
}

// Builds graphs by names.
struct Builder {
  Graph graph;

  Builder() { graph.info.opsets[""] = kCanonicalOpset; }

  ValueId value(const std::string& name) {
    if (name.empty()) return kNoValue;
    const auto known = graph.find_value(name);
    return known ? *known : graph.add_value(name);
  }
  void input(const std::string& name, DType dtype = DType::kFloat32) {
    const ValueId id = graph.add_value(name);
    graph.add_input(id);
    graph.declare(id, dtype, std::nullopt);
  }
  void output(const std::string& name) { graph.add_output(value(name)); }
  NodeId node(const std::string& op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs,
              std::map<std::string, Attribute, std::less<>> attributes = {}) {
    Node n{to_text(op, "_node"), op, "", {}, {}, std::move(attributes)};
    for (const std::string& name : inputs) n.inputs.push_back(value(name));
    for (const std::string& name : outputs) n.outputs.push_back(value(name));
    return graph.add_node(std::move(n));
  }
  const Tensor& constant(const std::string& name) const {
    return *graph.value(*graph.find_value(name)).constant;
  }
};

// x -> producer (weights w, bias b if any) -> BatchNormalization -> y
struct NormalizedLayer : Builder {
  std::mt19937 random{11};

  NormalizedLayer(const std::string& op, const Shape& weight, std::int64_t channels,
                  std::map<std::string, Attribute, std::less<>> attributes = {},
                  const std::string& bias = "b") {
    input("x");
    graph.add_constant("w", uniform_tensor(weight, random));
    if (!bias.empty()) graph.add_constant(bias, uniform_tensor({channels}, random));
    graph.add_constant("gamma", uniform_tensor({channels}, random));
    graph.add_constant("beta", uniform_tensor({channels}, random));
    graph.add_constant("mean", uniform_tensor({channels}, random));
    graph.add_constant("var", uniform_tensor({channels}, random, 0.1F, 2.0F));
    node(op, {"x", "w", bias}, {"c"}, std::move(attributes));
    node("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, {"y"}, {{"epsilon", 0.001F}});
    output("y");
    graph.check();
  }
  [[nodiscard]] double scale(std::size_t c) const {
    return constant("gamma").values<float>()[c] /
           std::sqrt(constant("var").values<float>()[c] + 0.001);
  }
  [[nodiscard]] double shifted(std::size_t c, double b) const {
    return (b - constant("mean").values<float>()[c]) * scale(c) +
           constant("beta").values<float>()[c];
  }
};

TEST(FoldBatchNorm, ScalesConvolutionWeightsAndBiasAndKeepsNames) {
  NormalizedLayer layer("Conv", {3, 2, 1, 2}, 3);
  const Tensor w = layer.constant("w").clone();
  const Tensor b = layer.constant("b").clone();
  fold_batch_norm(layer.graph);
  layer.graph.check();
  ASSERT_THAT(ops_of(layer.graph), ElementsAre("Conv"));
  const Node& conv = layer.graph.node(layer.graph.nodes()[0]);
  EXPECT_EQ(conv.name, "Conv_node");
  EXPECT_EQ(layer.graph.value(conv.outputs[0]).name, "y");
  EXPECT_EQ(layer.graph.value(conv.inputs[1]).name, "w");
  EXPECT_EQ(layer.graph.value(conv.inputs[2]).name, "b");
  EXPECT_THAT(layer.graph.info.aliases, ElementsAre(Pair("c", "y")));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_FLOAT_EQ(layer.constant("w").values<float>()[i],
                    static_cast<float>(w.values<float>()[i] * layer.scale(i / 4)));
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(layer.constant("b").values<float>()[c],
                    static_cast<float>(layer.shifted(c, b.values<float>()[c])));
  }
}

TEST(FoldBatchNorm, AddsABiasWhereThereIsNone) {
  NormalizedLayer layer("Conv", {3, 2, 1, 1}, 3, {}, "");
  fold_batch_norm(layer.graph);
  layer.graph.check();
  const Node& conv = layer.graph.node(layer.graph.nodes()[0]);
  ASSERT_TRUE(conv.has_input(2));
  EXPECT_EQ(layer.graph.value(conv.inputs[2]).name, "w_bias");
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(layer.constant("w_bias").values<float>()[c],
                    static_cast<float>(layer.shifted(c, 0.0)));
  }
}

TEST(FoldBatchNorm, FollowsTheGroupsOfTransposedConvolutions) {
  // 4 input channels in 2 groups, 3 outputs per group: output channels 0..2 read inputs 0 and 1.
  NormalizedLayer layer("ConvTranspose", {4, 3, 1, 2}, 6, {{"group", std::int64_t{2}}});
  const Tensor w = layer.constant("w").clone();
  fold_batch_norm(layer.graph);
  ASSERT_THAT(ops_of(layer.graph), ElementsAre("ConvTranspose"));
  for (std::size_t in = 0; in < 4; ++in) {
    for (std::size_t out = 0; out < 3; ++out) {
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t i = (in * 3 + out) * 2 + k;
        EXPECT_FLOAT_EQ(layer.constant("w").values<float>()[i],
                        static_cast<float>(w.values<float>()[i] * layer.scale(in / 2 * 3 + out)));
      }
    }
  }
}

TEST(FoldBatchNorm, FollowsTransBAndBetaOfGemm) {
  for (const std::int64_t trans : {0, 1}) {
    SCOPED_TRACE(trans);
    NormalizedLayer layer("Gemm", trans == 1 ? Shape{3, 2} : Shape{2, 3}, 3,
                          {{"transB", trans}, {"alpha", 0.5F}, {"beta", 2.0F}});
    const Tensor w = layer.constant("w").clone();
    const Tensor b = layer.constant("b").clone();
    fold_batch_norm(layer.graph);
    ASSERT_THAT(ops_of(layer.graph), ElementsAre("Gemm"));
    const Node& gemm = layer.graph.node(layer.graph.nodes()[0]);
    EXPECT_EQ(gemm.get_float("alpha", 1.0F), 0.5F);
    EXPECT_EQ(gemm.get_float("beta", 1.0F), 1.0F);
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t channel = trans == 1 ? i / 2 : i % 3;
      EXPECT_FLOAT_EQ(layer.constant("w").values<float>()[i],
                      static_cast<float>(w.values<float>()[i] * layer.scale(channel)));
    }
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_FLOAT_EQ(layer.constant("b").values<float>()[c],
                      static_cast<float>(layer.shifted(c, 2.0 * b.values<float>()[c])));
    }
  }
}

TEST(FoldBatchNorm, CopiesWeightsThatAnotherNodeReads) {
  NormalizedLayer layer("Conv", {3, 2, 1, 1}, 3);
  const Tensor w = layer.constant("w").clone();
  layer.node("Conv", {"x", "w"}, {"z"});
  layer.output("z");
  fold_batch_norm(layer.graph);
  layer.graph.check();
  EXPECT_TRUE(identical(layer.constant("w"), w));
  const Node& conv = layer.graph.node(layer.graph.nodes()[0]);
  EXPECT_EQ(layer.graph.value(conv.inputs[1]).name, "w_folded");
  EXPECT_EQ(layer.graph.value(conv.inputs[2]).name, "b");
}

TEST(FoldBatchNorm, LeavesConvolutionsThatOthersReadOrThatAreOutputs) {
  NormalizedLayer read("Conv", {3, 2, 1, 1}, 3);
  read.node("Relu", {"c"}, {"z"});
  read.output("z");
  fold_batch_norm(read.graph);
  EXPECT_THAT(ops_of(read.graph), ElementsAre("Conv", "BatchNormalization", "Relu"));

  NormalizedLayer output("Conv", {3, 2, 1, 1}, 3);
  output.output("c");
  fold_batch_norm(output.graph);
  EXPECT_THAT(ops_of(output.graph), ElementsAre("Conv", "BatchNormalization"));
}

TEST(FoldBatchNorm, LeavesTrainingModeAndChannelCountsThatDisagree) {
  NormalizedLayer training("Conv", {3, 2, 1, 1}, 3);
  training.graph.attributes(training.graph.nodes()[1])["training_mode"] = std::int64_t{1};
  fold_batch_norm(training.graph);
  EXPECT_EQ(training.graph.nodes().size(), 2U);

  NormalizedLayer wrong("Conv", {4, 2, 1, 1}, 3);
  fold_batch_norm(wrong.graph);
  EXPECT_EQ(wrong.graph.nodes().size(), 2U);
}

TEST(RemoveIdentities, JoinsBothSidesAndKeepsTheNamesOfGraphOutputs) {
  Builder b;
  b.input("x");
  b.node("Identity", {"x"}, {"x2"});
  b.node("Relu", {"x2"}, {"r"});
  b.node("Dropout", {"r"}, {"d"});
  b.node("Sigmoid", {"r"}, {"s"});
  b.node("Identity", {"d"}, {"y"});
  b.output("y");
  b.output("s");
  b.graph.check();
  remove_identities(b.graph);
  b.graph.check();
  ASSERT_THAT(ops_of(b.graph), ElementsAre("Relu", "Sigmoid"));
  const Node& relu = b.graph.node(b.graph.nodes()[0]);
  EXPECT_EQ(b.graph.value(relu.inputs[0]).name, "x");
  EXPECT_EQ(b.graph.value(relu.outputs[0]).name, "y");
  EXPECT_THAT(b.graph.info.aliases, ElementsAre(Pair("d", "y"), Pair("r", "y"), Pair("x2", "x")));
}

TEST(RemoveIdentities, KeepsWhatSeparatesAnInputFromAnOutput) {
  Builder b;
  b.input("x");
  b.node("Identity", {"x"}, {"y"});
  b.node("Relu", {"x"}, {"r"});
  b.node("Identity", {"r"}, {"z"});
  for (const char* name : {"y", "r", "z"}) b.output(name);
  remove_identities(b.graph);
  b.graph.check();
  EXPECT_THAT(ops_of(b.graph), ElementsAre("Identity", "Relu", "Identity"));
}

TEST(RemoveIdentities, RemovesCastsOnlyToTheTypeThatIsCertain) {
  Builder b;
  b.input("x");
  b.node("Cast", {"x"}, {"same"}, {{"to", std::int64_t{1}}});
  b.node("Cast", {"same"}, {"other"}, {{"to", std::int64_t{6}}});
  b.node("Cast", {"other"}, {"again"}, {{"to", std::int64_t{6}}});
  b.node("Relu", {"again"}, {"y"});
  b.output("y");
  remove_identities(b.graph);
  b.graph.check();
  ASSERT_THAT(ops_of(b.graph), ElementsAre("Cast", "Relu"));
  EXPECT_EQ(b.graph.node(b.graph.nodes()[0]).get_int("to", 0), 6);
}

TEST(RemoveIdentities, KeepsDropoutThatTrainsOrWhoseMaskIsRead) {
  Builder b;
  b.input("x");
  b.graph.add_constant("ratio", Tensor::scalar(0.5F));
  b.graph.add_constant("on", Tensor::scalar(true));
  b.graph.add_constant("off", Tensor::scalar(false));
  b.node("Dropout", {"x", "ratio", "on"}, {"a"});
  b.node("Dropout", {"a", "ratio", "off"}, {"b"});
  b.node("Dropout", {"b"}, {"c", "mask"});
  b.node("Relu", {"c"}, {"y"});
  b.output("y");
  b.output("mask");
  remove_identities(b.graph);
  b.graph.check();
  EXPECT_THAT(ops_of(b.graph), ElementsAre("Dropout", "Dropout", "Relu"));
}

TEST(RemoveIdentities, RemovesDropoutOfNothingInTrainingMode) {
  Builder b;
  b.input("x");
  b.graph.add_constant("ratio", Tensor::scalar(0.0F));
  b.graph.add_constant("on", Tensor::scalar(true));
  b.node("Dropout", {"x", "ratio", "on"}, {"a"});
  b.node("Relu", {"a"}, {"y"});
  b.output("y");
  remove_identities(b.graph);
  b.graph.check();
  EXPECT_THAT(ops_of(b.graph), ElementsAre("Relu"));
}

// Evaluates the operator Inc, which adds one to float constants, and no other operator.
std::optional<std::vector<Tensor>> evaluate_inc(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op_type != "Inc") return std::nullopt;
  std::vector<Tensor> results;
  results.push_back(graph.value(node.inputs[0]).constant->clone());
  for (float& value : results[0].values<float>()) value += 1.0F;
  return results;
}

TEST(FoldConstants, ComputesChainsAndKeepsUnknownOperators) {
  Builder b;
  b.input("x");
  b.graph.add_constant("c", Tensor::scalar(1.0F));
  b.node("Inc", {"c"}, {"d"});
  b.node("Inc", {"d"}, {"e"});
  b.node("Unknown", {"e"}, {"u"});
  b.node("Add", {"x", "u"}, {"y"});
  b.output("y");
  b.output("e");
  fold_constants(b.graph, evaluate_inc);
  b.graph.check();
  EXPECT_THAT(ops_of(b.graph), ElementsAre("Unknown", "Add"));
  EXPECT_EQ(b.constant("e").values<float>()[0], 3.0F);
}

TEST(FoldConstants, TurnsEveryNumericConstantNodeIntoAConstant) {
  Builder b;
  const auto tensor = std::make_shared<const Tensor>(Tensor::of<std::int8_t>({2}, {1, 2}));
  b.node("Constant", {}, {"t"}, {{"value", tensor}});
  b.node("Constant", {}, {"f"}, {{"value_float", 0.5F}});
  b.node("Constant", {}, {"i"}, {{"value_int", std::int64_t{4}}});
  b.node("Constant", {}, {"fs"}, {{"value_floats", std::vector<float>{1, 2}}});
  b.node("Constant", {}, {"is"}, {{"value_ints", std::vector<std::int64_t>{5}}});
  b.node("Constant", {}, {"s"}, {{"value_string", std::string("text")}});
  for (const char* name : {"t", "f", "i", "fs", "is", "s"}) b.output(name);
  fold_constant_nodes(b.graph);
  b.graph.check();
  EXPECT_EQ(b.graph.nodes().size(), 1U);
  EXPECT_EQ(b.constant("t").dtype(), DType::kInt8);
  EXPECT_EQ(b.constant("f").shape(), Shape());
  EXPECT_EQ(b.constant("f").values<float>()[0], 0.5F);
  EXPECT_EQ(b.constant("i").values<std::int64_t>()[0], 4);
  EXPECT_THAT(b.constant("fs").values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(b.constant("is").values<std::int64_t>(), ElementsAre(5));
}

TEST(FoldConstants, KeepsQuantizedWeightsInTheirIntegers) {
  Builder b;
  b.graph.add_constant("q", Tensor::of<std::int8_t>({1}, {1}));
  b.graph.add_constant("s", Tensor::scalar(0.5F));
  b.node("DequantizeLinear", {"q", "s"}, {"w"});
  b.output("w");
  fold_constants(b.graph, [](const Graph&, NodeId) -> std::optional<std::vector<Tensor>> {
    ADD_FAILURE() << "was evaluated";
    return std::nullopt;
  });
  EXPECT_EQ(b.graph.nodes().size(), 1U);
}

TEST(FoldConstants, KeepsNodesWhoseResultsAreLarger) {
  Builder b;
  b.graph.add_constant("c", Tensor::scalar(1.0F));
  std::string last = "c";
  for (int i = 0; i < 8; ++i) {
    const std::string next = to_text("v", i);
    b.node("Twice", {last}, {next});
    last = next;
  }
  b.output(last);
  fold_constants(b.graph, [](const Graph& graph, NodeId id) {
    const std::int64_t bytes = graph.value(graph.node(id).inputs[0]).constant->bytes();
    std::vector<Tensor> results;
    results.emplace_back(DType::kUInt8, Shape{2 * bytes});
    return std::optional(std::move(results));
  });
  b.graph.check();
  // 4 bytes become 256 in six steps. Larger constants would not be worth it, because the model
  // stores only 4 bytes.
  EXPECT_EQ(b.graph.nodes().size(), 2U);
  EXPECT_EQ(b.constant("v5").bytes(), 256);
}

TEST(FoldConstants, DoesNotStoreOneConstantInManyForms) {
  Builder b;
  b.graph.add_constant("c", Tensor(DType::kFloat32, Shape{1000}));
  for (int i = 0; i < 3; ++i) {
    b.node("Inc", {"c"}, {to_text("v", i)});
    b.output(to_text("v", i));
  }
  fold_constants(b.graph, evaluate_inc);
  EXPECT_EQ(b.graph.nodes().size(), 3U);
}

TEST(ToFloat32, WidensConstantsCastsAndDeclarations) {
  Builder b;
  b.input("x", DType::kFloat16);
  b.graph.add_constant("w", Tensor::of<Float16>({2}, {to_float16(1.5F), to_float16(-2.0F)}));
  b.node("Cast", {"x"}, {"h"}, {{"to", std::int64_t{10}}});
  b.node("Add", {"h", "w"}, {"y"});
  b.graph.declare(b.value("y"), DType::kBFloat16, std::nullopt);
  b.output("y");
  to_float32(b.graph);
  b.graph.check();
  EXPECT_EQ(b.graph.value(b.value("x")).dtype, DType::kFloat32);
  EXPECT_EQ(b.graph.value(b.value("y")).dtype, DType::kFloat32);
  EXPECT_THAT(b.constant("w").values<float>(), ElementsAre(1.5F, -2.0F));
  EXPECT_EQ(b.graph.node(b.graph.nodes()[0]).get_int("to", 0), 1);
}

}  // namespace
}  // namespace qtool
