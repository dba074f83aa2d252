#include "report/model_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/placement/placement.h"
#include "support/parse_onnx.h"
#include "unit/onnx_models.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A graph whose only output is its input, declared as given.
PortSummary port(std::optional<DType> dtype, std::optional<std::vector<Dim>> shape) {
  Graph graph;
  const ValueId x = graph.add_value("x");
  graph.declare(x, dtype, std::move(shape));
  graph.add_input(x);
  graph.add_output(x);
  const ModelSummary summary = summarize(graph);
  EXPECT_EQ(summary.inputs.size(), 1U);
  EXPECT_EQ(summary.outputs.at(0).shape, summary.inputs.at(0).shape);
  return summary.inputs.at(0);
}

TEST(ModelSummary, OfAnEmptyGraphIsEmptyAndSupported) {
  const ModelSummary summary = summarize(Graph());
  EXPECT_EQ(summary.producer, "");
  EXPECT_EQ(summary.opset, 0);
  EXPECT_EQ(summary.nodes, 0);
  EXPECT_THAT(summary.operators, IsEmpty());
  EXPECT_EQ(summary.parameters, 0);
  EXPECT_TRUE(summary.supported());
}

TEST(ModelSummary, RepeatsWhatTheFileSaysOfItself) {
  Graph graph;
  graph.info.producer_name = "maker";
  graph.info.opsets = {{"", 17}, {"com.example", 3}};
  graph.info.metadata = {{"key", "value"}};
  EXPECT_EQ(summarize(graph).producer, "maker");
  graph.info.producer_version = "2.1";
  const ModelSummary summary = summarize(graph);
  EXPECT_EQ(summary.producer, "maker 2.1");
  EXPECT_EQ(summary.opset, 17);
  EXPECT_THAT(summary.metadata, ElementsAre(std::pair("key", "value")));
}

TEST(ModelSummary, HasNoOpsetWhereOnlyOthersAreImported) {
  Graph graph;
  graph.info.opsets = {{"com.example", 3}};
  EXPECT_EQ(summarize(graph).opset, 0);
}

TEST(ModelSummary, ShowsPortsAsTheFileDeclaresThem) {
  EXPECT_EQ(port(DType::kFloat32, std::vector<Dim>{{{}, "N"}, {3, ""}, {224, ""}, {{}, ""}}).shape,
            "[N, 3, 224, ?]");
  EXPECT_EQ(port(DType::kInt64, std::vector<Dim>{}).shape, "[]");
  EXPECT_EQ(port(DType::kInt64, std::vector<Dim>{}).type, "int64");
  EXPECT_EQ(port(std::nullopt, std::nullopt).type, "?");
  EXPECT_EQ(port(std::nullopt, std::nullopt).shape, "?");
  EXPECT_EQ(port(DType::kUInt8, std::nullopt).name, "x");
}

TEST(ModelSummary, ListsPortsInTheGraphsOrder) {
  Net net;
  const std::string z = net.input("z", {1, 2});
  const std::string a = net.input("a", {1, 2});
  net.output(net.op("Sub", "sub", {z, a}));
  net.output(net.op("Add", "add", {z, a}));
  const ModelSummary summary = summarize(net.graph);
  ASSERT_EQ(summary.inputs.size(), 2U);
  EXPECT_EQ(summary.inputs[0].name, "z");
  EXPECT_EQ(summary.inputs[1].name, "a");
  ASSERT_EQ(summary.outputs.size(), 2U);
  EXPECT_EQ(summary.outputs[0].name, "sub_out");
  EXPECT_EQ(summary.outputs[1].name, "add_out");
}

TEST(ModelSummary, ListsOperatorsByFrequencyThenByName) {
  Net net;
  std::string x = net.input("x", {1, 2});
  int next = 0;
  for (const char* op : {"Tanh", "Relu", "Sigmoid", "Relu", "Abs"}) {
    x = net.op(op, "n" + std::to_string(next++), {x});
  }
  net.output(x);
  const ModelSummary summary = summarize(net.graph);
  EXPECT_EQ(summary.nodes, 5);
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const OperatorCount& count : summary.operators)
    counts.emplace_back(count.op_type, count.nodes);
  EXPECT_THAT(counts, ElementsAre(std::pair("Relu", 2), std::pair("Abs", 1),
                                  std::pair("Sigmoid", 1), std::pair("Tanh", 1)));
}

TEST(ModelSummary, CountsForeignOperatorsUnderTheirDomain) {
  Net net;
  const std::string y = net.op("Relu", "own", {net.input("x", {1, 2})});
  EXPECT_TRUE(summarize(net.graph).supported());
  net.output(net.op("Relu", "foreign", {y}));
  net.graph.set_op(node_named(net.graph, "foreign"), "Relu", "com.example");
  const ModelSummary summary = summarize(net.graph);
  ASSERT_EQ(summary.operators.size(), 2U);
  EXPECT_EQ(summary.operators[0].op_type, "Relu");
  EXPECT_TRUE(summary.operators[0].supported);
  EXPECT_EQ(summary.operators[1].op_type, "com.example.Relu");
  EXPECT_FALSE(summary.operators[1].supported);
  EXPECT_FALSE(summary.supported());
}

TEST(ModelSummary, SupportsOperatorsThatPreparingRewrites) {
  Net net;
  net.output(net.op("Gelu", "newer", {net.input("x", {1, 2})}));
  EXPECT_TRUE(summarize(net.graph).supported());
}

TEST(ModelSummary, CountsParametersOfEveryTypeOnce) {
  Net net;
  const std::string x = net.input("x", {2, 3});
  net.constant("w", Tensor(DType::kFloat32, {2, 3}));
  net.constant("shape", Tensor::of<std::int64_t>({2}, {3, 2}));
  net.constant("unused", Tensor(DType::kFloat32, {100}));
  const std::string sum = net.op("Add", "first", {x, "w"});
  net.output(net.op("Reshape", "shaped", {net.op("Add", "again", {sum, "w"}), "shape"}));
  const ModelSummary summary = summarize(net.graph);
  EXPECT_EQ(summary.parameters, 8);        // 6 + 2
  EXPECT_EQ(summary.parameter_bytes, 40);  // 6 * 4 + 2 * 8
}

// Some exporters write weights as Constant nodes.
TEST(ModelSummary, CountsWeightsInConstantNodes) {
  Net net;
  const auto weights = std::make_shared<const Tensor>(Tensor(DType::kFloat32, {2, 3}));
  const std::string w = net.op("Constant", "w", {}, {{"value", weights}});
  net.output(net.op("Add", "add", {net.input("x", {2, 3}), w}));
  const ModelSummary summary = summarize(net.graph);
  EXPECT_EQ(summary.parameters, 6);
  EXPECT_EQ(summary.parameter_bytes, 24);
}

TEST(ModelSummary, CountsWeightsInsideBranches) {
  const ModelSummary summary = summarize(load_text(R"(
    <ir_version: 8, opset_import: [ "" : 13 ]>
    g (float[2] x, bool c) => (float[2] y) <float[2] outer = {1, 2}> {
      z = Add (x, outer)
      y = If (c) <
        then_branch = then () => (float[2] t) <float[2] w = {3, 4}> { t = Mul (z, w) },
        else_branch = other () => (float[2] e) {
          k = Constant <value = float[1] {5}> ()
          d = Constant <value = bool {1}> ()
          e = If (d) <
            then_branch = inner () => (float[2] tt) <float[2] v = {6, 7}> { tt = Sub (z, v) },
            else_branch = last () => (float[2] te) { te = Mul (z, k) }
          >
        }
      >
    })"));
  EXPECT_EQ(summary.parameters, 2 + 2 + 1 + 1 + 2);
  EXPECT_EQ(summary.parameter_bytes, 4 * (2 + 2 + 1 + 2) + 1);
}

Net convolution_and_product() {
  Net net;
  Tensor matrix(DType::kFloat32, Shape{3, 2});
  for (float& v : matrix.values<float>()) v = 0.5F;
  net.constant("m", std::move(matrix));
  const std::string pooled =
      net.op("GlobalAveragePool", "pool", {net.conv("c", net.input("x", {1, 2, 4, 5}))});
  net.output(net.op("Gemm", "fc", {net.op("Flatten", "flat", {pooled}), "m"},
                    {{"transB", std::int64_t{1}}}));
  return net;
}

TEST(PlanSummary, CountsMultiplicationsOfTheStepsThatMultiply) {
  const Executor executor(convolution_and_product().graph);
  const auto plan = executor.compile({});
  const PlanSummary summary = summarize(*plan);
  ASSERT_EQ(summary.layers.size(), 2U);
  EXPECT_EQ(summary.layers[0].node, "c");
  EXPECT_EQ(summary.layers[0].macs, 80);  // 2 outputs x 4 x 5 places x 2 inputs
  EXPECT_EQ(summary.layers[1].node, "fc");
  EXPECT_EQ(summary.layers[1].macs, 6);  // 3 outputs x 2 inputs
  EXPECT_EQ(summary.macs, 86);
  EXPECT_EQ(summary.integer_macs, 0);
  EXPECT_EQ(summary.integer_steps, 0);
  EXPECT_EQ(summary.steps, std::ssize(plan->steps()));
  EXPECT_GE(summary.steps, 3);  // the pool too
  EXPECT_EQ(summary.arena_bytes, plan->arena_bytes());
}

TEST(ModelSummary, NamesNodesAndTensors) {
  const std::vector<NodeNames> names = names_of(convolution_and_product().graph);
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front().node, "c");
  EXPECT_EQ(names.front().op_type, "Conv");
  EXPECT_EQ(names.front().outputs, std::vector<std::string>{"c_out"});
}

TEST(Outlook, IsWhatQuantizingThenRuns) {
  const Net net = convolution_and_product();
  const Executor executor(net.graph);
  const auto outlook = outlook_of(executor.graph(), *executor.compile({}), find_target("cpu"));
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->coverage.macs, 86);
  EXPECT_EQ(outlook->coverage.integer_macs, 86);
  EXPECT_EQ(outlook->report.target, "cpu");

  CalibrationTable table;
  table.model_fingerprint = fingerprint(net.graph);
  for (const std::string& name : tensors_to_calibrate(net.graph, find_target("cpu"))) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 2.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    table.activations.push_back(std::move(entry));
  }
  const Quantized quantized = quantize(net.graph, table);
  const Executor integers(quantized.graph);
  const auto plan = integers.compile({});
  EXPECT_EQ(coverage_of(*plan).integer_macs, outlook->coverage.integer_macs);
  EXPECT_FALSE(outlook_of(integers.graph(), *plan, find_target("cpu")));  // quantized already
  ASSERT_EQ(quantized.report.nodes.size(), outlook->report.nodes.size());
  for (std::size_t i = 0; i < outlook->report.nodes.size(); ++i) {
    EXPECT_EQ(outlook->report.nodes[i].role, quantized.report.nodes[i].role);
  }
}

TEST(Outlook, FindsUnnamedNodesBehindWhatIsFusedIntoThem) {
  Net net;
  net.output(net.op("Relu", "r", {net.conv("c", net.input("x", {1, 2, 4, 5}))}));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(save_onnx_bytes(net.graph)));
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) node.clear_name();
  const Executor executor(load_onnx_bytes(model.SerializeAsString(), "", "unnamed"));
  const auto outlook = outlook_of(executor.graph(), *executor.compile({}), find_target("cpu"));
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->coverage.macs, 80);
  EXPECT_EQ(outlook->coverage.integer_macs, 80);
}

TEST(PlanSummary, CountsWhatRunsOnIntegers) {
  const Net net = convolution_and_product();
  CalibrationTable table;
  table.model_fingerprint = fingerprint(net.graph);
  for (const char* name : {"x", "c_out"}) {  // the input of the product has no range
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {-1.0F, 2.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    table.activations.push_back(std::move(entry));
  }
  const Executor executor(quantize(net.graph, table).graph);
  const auto plan = executor.compile({});
  const PlanSummary summary = summarize(*plan);
  EXPECT_EQ(summary.macs, 86);
  EXPECT_EQ(summary.integer_macs, 80);
  ASSERT_EQ(summary.layers.size(), 2U);
  EXPECT_TRUE(summary.layers[0].integer);
  EXPECT_FALSE(summary.layers[1].integer);
  std::int64_t integer = 0;
  for (const StepInfo& step : plan->steps()) integer += step.integer ? 1 : 0;
  EXPECT_EQ(summary.integer_steps, integer);
  EXPECT_LT(summary.integer_steps, summary.steps);
}

}  // namespace
}  // namespace qtool
