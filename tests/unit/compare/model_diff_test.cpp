#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "report/diff/model_diff_text.h"
#include "unit/four_layers.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Graph with_weight(const std::string& name, Tensor tensor) {
  Graph graph = four_layers();
  graph.set_constant(graph.find_value(name).value(),
                     std::make_shared<const Tensor>(std::move(tensor)));
  return graph;
}

// Two layers; every name begins with `prefix`.
Graph named(const std::string& prefix) {
  Net net;
  net.input("x", {1, 2, 4, 4});
  net.op("Relu", prefix + "relu", {net.conv(prefix + "one", "x")});
  net.output(net.conv(prefix + "two", prefix + "relu_out"));
  return std::move(net.graph);
}

// x rounded with `scale` and `zero_point`, then Relu.
Graph rounded_relu(float scale, std::uint8_t zero_point) {
  Net net;
  net.input("x", {1, 4});
  net.constant("s", Tensor::scalar<float>(scale));
  net.constant("z", Tensor::scalar<std::uint8_t>(zero_point));
  const std::string q = net.op("QuantizeLinear", "q", {"x", "s", "z"});
  net.output(net.op("Relu", "relu", {net.op("DequantizeLinear", "dq", {q, "s", "z"})}));
  return std::move(net.graph);
}

TEST(ModelDiff, EqualModelsSaySo) {
  const ModelDiff diff = diff_of(four_layers(), four_layers());
  EXPECT_TRUE(diff.equal());
  EXPECT_TRUE(ModelLimits{}.accept(diff));
  EXPECT_THAT(text_of(diff, {}), HasSubstr("the models are equal: 8 nodes, 8 constants"));
}

TEST(ModelDiff, FindsTheWeightThatChanged) {
  const Graph a = four_layers();
  Tensor changed = a.value(a.find_value("b_w").value()).constant->clone();
  changed.values<float>()[7] += 1.0F;
  const ModelDiff diff = diff_of(a, with_weight("b_w", std::move(changed)));
  EXPECT_FALSE(diff.equal());
  EXPECT_TRUE(diff.same_structure());
  for (const WeightDiff& weight : diff.weights) {
    EXPECT_EQ(weight.equal(), weight.name_a != "b_w");
    if (weight.equal()) continue;
    EXPECT_EQ(weight.node, "b");
    EXPECT_EQ(weight.diff->worst, 7);
    EXPECT_NEAR(weight.diff->max_abs_error, 1.0, 1e-6);
  }
  EXPECT_TRUE((ModelLimits{{{}, 1.5}, {}}.accept(diff)));
  EXPECT_FALSE((ModelLimits{{{}, 0.5}, {}}.accept(diff)));
  const auto json = nlohmann::json::parse(json_of(diff, {}));
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["weights"].size(), 8U);
}

TEST(ModelDiff, NamesAShapeThatChanged) {
  const ModelDiff diff =
      diff_of(four_layers(), with_weight("c_b", Tensor(DType::kFloat32, {kLayerChannels, 1})));
  EXPECT_THAT(text_of(diff, {}), HasSubstr("float32 [4] in A, float32 [4, 1] in B"));
  EXPECT_FALSE(ModelLimits{}.accept(diff));
}

TEST(ModelDiff, NamesNodesAttributesAndSources) {
  const Graph a = four_layers();
  Graph b = four_layers();
  const NodeId conv = node_named(b, "c");
  b.attributes(conv).insert_or_assign("group", std::int64_t{2});
  b.attributes(node_named(b, "d")).insert_or_assign("group", std::int64_t{1});  // the default
  b.set_input(conv, 0, b.find_value("a_relu_out").value());
  const ModelDiff diff = diff_of(a, b);
  EXPECT_THAT(diff.changed, ElementsAre("node 'c' (Conv): attribute 'group' only in B",
                                        "node 'c' (Conv): input 0 comes from elsewhere"));
  Net more;
  more.graph = four_layers();
  more.op("Neg", "new", {"a_out"});
  EXPECT_THAT(diff_of(a, more.graph).only_b, ElementsAre("node 'new' (Neg)"));
  EXPECT_THAT(diff_of(more.graph, a).only_a, ElementsAre("node 'new' (Neg)"));
}

TEST(ModelDiff, MatchesRenamedNodesByWhatTheyAre) {
  const ModelDiff diff = diff_of(named("old/"), named("new/"));
  EXPECT_EQ(diff.nodes, 3);
  EXPECT_EQ(diff.renamed.size(), 3U);
  EXPECT_THAT(diff.only_a, IsEmpty());
  EXPECT_THAT(diff.changed, IsEmpty());
  for (const WeightDiff& weight : diff.weights) EXPECT_TRUE(weight.equal());
}

TEST(ModelDiff, ComparesScalesAndZeroPoints) {
  const ModelDiff same = diff_of(rounded_relu(0.5F, 3), rounded_relu(0.5F, 3));
  ASSERT_EQ(same.scales.size(), 1U);
  EXPECT_TRUE(same.equal());
  const ModelDiff diff = diff_of(rounded_relu(0.5F, 3), rounded_relu(0.4F, 3));
  ASSERT_EQ(diff.scales.size(), 1U);
  EXPECT_EQ(diff.scales[0].name, "x");
  EXPECT_NEAR(diff.scales[0].scale, 0.2, 1e-6);
  EXPECT_TRUE(ModelLimits({{}, 0.25}).accept(diff));
  EXPECT_FALSE(ModelLimits({{}, 0.1}).accept(diff));
  const ModelDiff moved = diff_of(rounded_relu(0.5F, 3), rounded_relu(0.5F, 4));
  EXPECT_TRUE(moved.scales[0].zero_points_differ);
  EXPECT_FALSE(moved.equal());
}

TEST(ModelDiff, AShortTextShowsZeroPointsThatDiffer) {
  ModelDiff diff;
  for (int i = 0; i < 20; ++i) {
    ScaleDiff& row = diff.scales.emplace_back();
    row.name = "scale" + std::to_string(i) + ".";
    row.a.scales = row.b.scales = {1.0F};
    row.scale = 0.5;
  }
  diff.scales[19].scale = 0.0;
  diff.scales[19].zero_points_differ = true;
  const std::string text = text_of(diff, {}, kAnyWidth, ListLength::kShort);
  EXPECT_THAT(text, HasSubstr("scale19."));
  EXPECT_THAT(text, testing::Not(HasSubstr("scale9.")));
}

TEST(ModelDiff, QuantizedAgainstFloatIsTheSameStructure) {
  Net net;
  net.input("x", {1, 4});
  net.output(net.op("Relu", "relu", {"x"}));
  const ModelDiff diff = diff_of(net.graph, rounded_relu(0.5F, 3));
  EXPECT_TRUE(diff.prepared);
  EXPECT_TRUE(diff.only_b.empty());
  EXPECT_TRUE(diff.changed.empty());
  EXPECT_EQ(diff.quantize_b, 2);
  EXPECT_THAT(diff.scales_only_b, ElementsAre("x"));
}

}  // namespace
}  // namespace qtool
