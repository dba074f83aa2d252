#include <gmock/gmock.h>

#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/quantize.h"
#include "quantize/weights/integer_bias.h"
#include "quantize/weights/integer_weights.h"
#include "quantize/weights/weight_ports.h"
#include "support/absent.h"
#include "support/code_of.h"
#include "support/places.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::HasSubstr;

Net two_convolution_net() {
  Net net;
  net.output(net.conv("c2", net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))})));
  return net;
}

CalibrationTable kl_table(const Net& net) {
  CalibrationTable table;
  table.model_fingerprint = fingerprint(net.graph);
  table.method = "kl";
  for (const char* name : {"x", "r1_out"}) {
    ActivationEntry entry;
    entry.tensor = name;
    entry.range = {0.0F, 2.0F};
    entry.affine = choose_affine(entry.range, find_target("cpu").activations);
    table.activations.push_back(entry);
  }
  return table;
}

TEST(Quantize, FollowsTheTableAndSaysWhereItCameFrom) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  table.preprocess = Preprocess();
  StaticOptions options;
  options.version = "1.2.3";
  const Quantized emitted = quantize(net.graph, table, options);
  const Graph& graph = emitted.graph;
  const QuantizeReport& report = emitted.report;
  EXPECT_EQ(report.quantized_tensors, 2);
  EXPECT_EQ(report.find("r1")->role, NodeRole::kFused);
  EXPECT_EQ(graph.info.metadata.at("qtool.method"), "kl");
  EXPECT_EQ(graph.info.metadata.at("qtool.source").size(), 16U);
  EXPECT_EQ(graph.info.metadata.at("qtool.version"), "1.2.3");
  EXPECT_EQ(graph.info.metadata.at("qtool.table_hash").size(), 16U);
  EXPECT_THAT(graph.info.metadata.at("qtool.preprocess"), HasSubstr("mean"));
}

// So a table without the contents of its images makes the same model.
TEST(Quantize, HashesATableWithoutTheContentsOfItsImages) {
  CalibrationTable table = kl_table(two_convolution_net());
  table.image_count = 1;
  const std::string hash = table_hash(table);
  table.image_ids = {1};
  EXPECT_EQ(table_hash(table), hash);
  table.image_count = 2;
  EXPECT_NE(table_hash(table), hash);
}

TEST(Quantize, RefusesTheTableOfAnotherModel) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  QuantizeReport report;
  table.model_fingerprint ^= 1;
  EXPECT_EQ(code_of([&] { quantize(net.graph, table); }), ErrorCode::kMismatch);
  StaticOptions options;
  options.model_fingerprint = table.model_fingerprint;
  EXPECT_NO_THROW(quantize(net.graph, table, options));
}

TEST(Quantize, RefusesAModelThatIsQuantizedAlready) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  const Quantized emitted = quantize(net.graph, table);
  const Graph& once = emitted.graph;
  table.model_fingerprint = fingerprint(once);
  EXPECT_EQ(code_of([&] { quantize(once, table); }), ErrorCode::kUnsupported);
}

TEST(Quantize, LeavesLayersWithoutARangeInFp32) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  table.activations.pop_back();
  const Quantized emitted = quantize(net.graph, table);
  const Graph& graph = emitted.graph;
  const QuantizeReport& report = emitted.report;
  EXPECT_EQ(report.find("c1")->role, NodeRole::kInteger);
  EXPECT_EQ(report.find("c2")->reason, "the table has no range for its input 'r1_out'");
  EXPECT_EQ(graph.value(graph.node(node_named(graph, "c2")).inputs[1]).name, "c2_w");
}

TEST(Quantize, TakesTheScalesOfTheTableAsTheyAre) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  table.activations[0].affine = {0.03F, 7};
  const Quantized emitted = quantize(net.graph, table);
  const Graph& graph = emitted.graph;
  const NodeId pair = graph.value(graph.find_value("x_q").value()).producer;
  EXPECT_EQ(graph.value(graph.node(pair).inputs[1]).constant->values<float>()[0], 0.03F);
  EXPECT_EQ(graph.value(graph.node(pair).inputs[2]).constant->values<std::uint8_t>()[0], 7);
}

TEST(FillWeightEntries, ListsTheScalesThatQuantizeUses) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  fill_weight_entries(net.graph, {}, table);
  ASSERT_EQ(table.weights.size(), 2U);
  EXPECT_EQ(table.weights[0].tensor, "c1_w");
  EXPECT_EQ(table.weights[0].consumer, "c1");
  EXPECT_EQ(table.weights[0].affines.axis, 0);
  const Quantized emitted = quantize(net.graph, table);
  const Graph& graph = emitted.graph;
  const auto scales = graph.value(graph.find_value("c1_w_s").value()).constant;
  EXPECT_THAT(
      table.weights[0].affines.scales,
      testing::ElementsAreArray(scales->values<float>().begin(), scales->values<float>().end()));
}

TEST(FillWeightEntries, KeepsScalesThatWereSetByHand) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  table.weights.push_back({"c1_w", "c1", {{0.5F, 0.25F}, {}, 0}});
  fill_weight_entries(net.graph, {}, table);
  EXPECT_THAT(table.weights[0].affines.scales, testing::ElementsAre(0.5F, 0.25F));
  const Quantized emitted = quantize(net.graph, table);
  const Graph& graph = emitted.graph;
  EXPECT_EQ(graph.value(graph.find_value("c1_w_s").value()).constant->values<float>()[1], 0.25F);
}

TEST(Quantize, RefusesWeightScalesThatDoNotFit) {
  const Net net = two_convolution_net();
  CalibrationTable table = kl_table(net);
  table.weights.push_back({"c1_w", "c1", {{0.5F, 0.5F, 0.5F}, {}, 0}});
  EXPECT_EQ(code_of([&] { quantize(net.graph, table); }), ErrorCode::kInvalidTable);
  table.weights[0].affines.scales = {0.5F, -1.0F};
  EXPECT_EQ(code_of([&] { quantize(net.graph, table); }), ErrorCode::kInvalidTable);
}

TEST(Quantize, HandlesTheChannelsOfMobileNetV2WhoseBiasWouldOverflow) {
  const std::filesystem::path path =
      std::filesystem::path(kSharedData) / "models/mobilenet_v2_1.0_224.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << absent(path);
  const Graph graph = load_onnx(path);
  std::int64_t raised = 0;
  for (const NodeId id : graph.nodes()) {
    const auto ports = weight_ports(graph, id);
    if (!ports) continue;
    const float input_scale = 6.0F / 255;
    const Target& target = find_target("cpu");
    const auto bias = real_bias(graph, *ports);
    const Tensor weights = real_weights(graph, *ports);
    const auto plain = choose_weight_affines(weights, ports->axis, "absmax", target.weights,
                                             target.weight_granularity, {}, input_scale)
                           .scales;
    const auto fitted = choose_weight_affines(weights, ports->axis, "absmax", target.weights,
                                              target.weight_granularity, bias, input_scale)
                            .scales;
    const auto scales = bias_scales(fitted, bias.size(), input_scale);
    const Tensor q = quantize_bias(bias, scales);
    for (std::size_t c = 0; c < bias.size(); ++c) {
      if (fitted[c] != plain[c]) ++raised;
      EXPECT_NEAR(scales[c] * static_cast<float>(q.values<std::int32_t>()[c]), bias[c],
                  scales[c] * 0.51F + 1e-6F * std::abs(bias[c]));
    }
  }
  EXPECT_EQ(raised, 9);
}

}  // namespace
}  // namespace qtool
