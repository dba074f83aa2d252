// Functions of one element: inside a convolution, as a table, or in float.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/random_floats.h"
#include "unit/placed_net.h"

namespace qtool {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const Target& with_tables() { return find_target("qtool"); }

// conv -> SiLU -> conv
Net plain_silu_net() {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(net.conv("c2", net.op("Mul", "silu", {c, net.op("Sigmoid", "gate", {c})})));
  return net;
}

std::vector<NodeRole> roles(const Net& net, const PlacementOptions& options = {}) {
  std::vector<NodeRole> all;
  for (const NodePlacement& p : place(net.graph, with_tables(), options).nodes) {
    all.push_back(p.role);
  }
  return all;
}

// conv -> SiLU and another convolution -> sum
Net shared_silu_net() {
  Net net = plain_silu_net();
  net.output(net.conv("c3", "c1_out"));
  return net;
}

TEST(Placement, HasNoPairInsideAFunctionThatRunsAsATable) {
  const Net net = shared_silu_net();
  EXPECT_THAT(pairs(net, {}, with_tables()), ElementsAre("x", "c1_out", "silu_out"));
  EXPECT_THAT(roles(net), Each(NodeRole::kInteger));
  const Placement placement = place(net.graph, with_tables(), {});
  EXPECT_EQ(placement.functions.size(), 1U);
  EXPECT_THAT(placement.inner_functions, testing::IsEmpty());
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "gate_out", "silu_out"));
}

TEST(Placement, HasNoPairBetweenAConvolutionAndTheFunctionOfItsResult) {
  const Net net = plain_silu_net();
  EXPECT_THAT(pairs(net, {}, with_tables()), ElementsAre("x", "silu_out"));
  EXPECT_THAT(roles(net), ElementsAre(NodeRole::kInteger, NodeRole::kFused, NodeRole::kFused,
                                      NodeRole::kInteger));
  const Placement placement = place(net.graph, with_tables(), {});
  EXPECT_EQ(placement.inner_functions.size(), 1U);
  EXPECT_THAT(placement.functions, testing::IsEmpty());
}

TEST(Placement, LeavesAFunctionInFloatWhoseResultIsReadInFloat) {
  Net net;
  net.output(net.op("Tanh", "tanh", {net.conv("c1", net.input("x", {1, 2, 4, 4}))}));
  EXPECT_THAT(roles(net), ElementsAre(NodeRole::kInteger, NodeRole::kFloat));
  EXPECT_THAT(place(net.graph, with_tables(), {}).inner_functions, testing::IsEmpty());
}

// Calibration has no range for the tensor between them.
TEST(Placement, LeavesAFunctionInFloatBehindAConvolutionInFloat) {
  const Net net = plain_silu_net();
  PlacementOptions options;
  options.exclude = {"c1"};
  options.has_range = [](std::string_view tensor) { return tensor != "c1_out"; };
  EXPECT_THAT(pairs(net, options, with_tables()), ElementsAre("silu_out"));
  EXPECT_THAT(roles(net, options), ElementsAre(NodeRole::kFloat, NodeRole::kFloat, NodeRole::kFloat,
                                               NodeRole::kInteger));
  options.exclude = {};
  options.has_range = [](std::string_view tensor) { return tensor != "x"; };
  const Placement placement = place(net.graph, with_tables(), options);
  EXPECT_EQ(placement.nodes[1].role, NodeRole::kFloat);
  EXPECT_EQ(placement.nodes[1].reason, "what it follows stays in FP32");
  EXPECT_THAT(placement.inner_functions, testing::IsEmpty());
}

TEST(Placement, LeavesAFunctionInFloatWhoseResultHasNoRange) {
  PlacementOptions options;
  options.has_range = [](std::string_view tensor) { return tensor != "silu_out"; };
  const Net net = plain_silu_net();
  EXPECT_THAT(roles(net, options), ElementsAre(NodeRole::kInteger, NodeRole::kFloat,
                                               NodeRole::kFloat, NodeRole::kFloat));
  const Placement placement = place(net.graph, with_tables(), options);
  EXPECT_EQ(placement.nodes[1].reason, "the table has no range for its result 'silu_out'");
  EXPECT_THAT(placement.inner_functions, testing::IsEmpty());
}

// A convolution of target cpu can only write integers. This one can write reals.
TEST(Placement, RoundsNoResultOfAFunctionThatOnlyRealNodesRead) {
  Net inside;
  const auto c = inside.conv("c1", inside.input("x", {1, 2, 4, 4}));
  const auto y = inside.op("Mul", "silu", {c, inside.op("Sigmoid", "gate", {c})});
  inside.output(inside.conv("c2", inside.op("Softmax", "softmax", {y})));
  EXPECT_THAT(pairs(inside, {}, with_tables()), ElementsAre("x", "softmax_out"));
}

TEST(Placement, HasNoFunctionInsideConvolutionsOverOneAxisOrThree) {
  using Dims = std::vector<std::int64_t>;
  for (const Dims& shape : {Dims{1, 2, 6}, Dims{1, 2, 4, 4, 4}}) {
    Net net;
    Dims w(shape.size(), 1);
    w[0] = w[1] = 2;
    net.constant("w", random_floats(Shape(w), 5));
    const auto c = net.op("Conv", "c1", {net.input("x", shape), "w"});
    net.output(net.op("Conv", "c2", {net.op("Tanh", "tanh", {c}), "w"}));
    EXPECT_THAT(pairs(net, {}, with_tables()), ElementsAre("x", "c1_out", "tanh_out"));
  }
}

TEST(Placement, ComputesOneFactorPerChannelInsideAConvolutionIfItComesLast) {
  const auto with_factors = [](bool last) {
    Net net;
    net.constant("factors", Tensor::of<float>({2, 1, 1}, {0.5F, 2.0F}));
    auto x = net.conv("c1", net.input("x", {1, 2, 4, 4}));
    if (!last) x = net.op("Mul", "mul", {x, "factors"});
    x = net.op("Mul", "silu", {x, net.op("Sigmoid", "gate", {x})});
    if (last) x = net.op("Mul", "mul", {x, "factors"});
    net.output(net.conv("c2", x));
    return place(net.graph, with_tables(), {});
  };
  EXPECT_EQ(with_factors(true).inner_functions.size(), 1U);
  EXPECT_EQ(with_factors(false).functions.size(), 1U);
}

// conv -> `function` -> factors -> sum with `x` -> conv
Net sloped_net(const std::string& function, std::int64_t group = 1) {
  Net net;
  net.constant("slope", Tensor::of<float>({2, 1, 1}, {0.1F, 0.2F}));
  net.constant("factors", Tensor::of<float>({2, 1, 1}, {0.5F, 2.0F}));
  const auto x = net.input("x", {1, 2, 4, 4});
  net.constant("w", random_floats({2, group == 1 ? 2 : 1, 1, 1}, 5));
  const auto c = net.op("Conv", "c1", {x, "w"}, {{"group", group}});
  const auto f =
      function == "PRelu" ? net.op(function, "f", {c, "slope"}) : net.op(function, "f", {c});
  const auto y = net.op("Mul", "mul", {f, "factors"});
  net.output(net.conv("c2", net.op("Add", "add", {x, y})));
  return net;
}

TEST(Placement, AddsAShortcutBehindASlopeBeforeItRounds) {
  EXPECT_THAT(pairs(sloped_net("LeakyRelu"), {}, with_tables()), ElementsAre("x", "add_out"));
  const Net net = sloped_net("PRelu");
  EXPECT_THAT(pairs(net, {}, with_tables()), ElementsAre("x", "add_out"));
  EXPECT_THAT(roles(net), ElementsAre(NodeRole::kInteger, NodeRole::kFused, NodeRole::kFused,
                                      NodeRole::kInteger, NodeRole::kInteger));
  const Placement placement = place(net.graph, with_tables(), {});
  EXPECT_EQ(placement.inner_functions.size(), 1U);
  EXPECT_EQ(placement.residuals, 1);
}

TEST(Placement, RoundsOtherFunctionsBeforeTheyAreAddedToAShortcut) {
  EXPECT_THAT(pairs(sloped_net("Tanh"), {}, with_tables()), ElementsAre("x", "mul_out", "add_out"));
  // Depthwise: a curve for one slope, a table for several.
  EXPECT_THAT(pairs(sloped_net("LeakyRelu", 2), {}, with_tables()),
              ElementsAre("x", "mul_out", "add_out"));
  EXPECT_THAT(pairs(sloped_net("PRelu", 2), {}, with_tables()),
              ElementsAre("x", "c1_out", "mul_out", "add_out"));
}

TEST(Placement, LeavesAFunctionInFloatWhenOneOfItsNodesIsExcluded) {
  PlacementOptions options;
  options.exclude = {"gate"};
  options.has_range = [](std::string_view tensor) { return tensor != "gate_out"; };
  EXPECT_THAT(roles(plain_silu_net(), options), ElementsAre(NodeRole::kInteger, NodeRole::kFloat,
                                                            NodeRole::kFloat, NodeRole::kInteger));
}

TEST(Placement, LeavesAFunctionInFloatWhoseInputHasNoRange) {
  PlacementOptions options;
  options.has_range = [](std::string_view tensor) { return tensor != "c1_out"; };
  const Net net = shared_silu_net();
  EXPECT_THAT(roles(net, options),
              ElementsAre(NodeRole::kInteger, NodeRole::kFloat, NodeRole::kFloat,
                          NodeRole::kInteger, NodeRole::kFloat));
  EXPECT_THAT(place(net.graph, with_tables(), options).nodes[1].reason,
              HasSubstr("no range for its input 'c1_out'"));
}

TEST(Placement, TakesFunctionsOfOneNodeThatTheTargetDoesNotList) {
  Net net;
  net.constant("slope", Tensor::of<float>({2, 1, 1}, {0.1F, 0.2F}));
  const auto a = net.op("PRelu", "prelu", {net.input("x", {1, 2, 4, 4}), "slope"});
  const auto b = net.op("Tanh", "tanh", {net.conv("c2", a)});
  net.output(net.conv("c3", b));
  EXPECT_THAT(roles(net), ElementsAre(NodeRole::kInteger, NodeRole::kInteger, NodeRole::kFused,
                                      NodeRole::kInteger));
  EXPECT_EQ(placed(net, "prelu").role, NodeRole::kFloat);  // target cpu
}

TEST(Placement, LeavesFunctionsWithPolesAndConstantsOfTheWrongAxisInFloat) {
  Net steep;
  const auto e = steep.op("Exp", "exp", {steep.conv("c1", steep.input("x", {1, 2, 4, 4}))});
  steep.output(steep.conv("c2", e));
  EXPECT_THAT(roles(steep), ElementsAre(NodeRole::kInteger, NodeRole::kFloat, NodeRole::kInteger));
  Net rows;
  rows.constant("slope", Tensor::of<float>({4, 1}, {0.1F, 0.2F, 0.3F, 0.4F}));
  const auto p =
      rows.op("PRelu", "prelu", {rows.conv("c1", rows.input("x", {1, 2, 4, 4})), "slope"});
  rows.output(rows.conv("c2", p));
  EXPECT_THAT(roles(rows), ElementsAre(NodeRole::kInteger, NodeRole::kFloat, NodeRole::kInteger));
}

}  // namespace
}  // namespace qtool
