// Functions of one element: inside a convolution, as a table, or in float.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

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

TEST(Placement, MakesATableBehindAConvolutionThatStaysInFloat) {
  PlacementOptions options;
  options.exclude = {"c1"};
  EXPECT_THAT(pairs(plain_silu_net(), options, with_tables()), ElementsAre("c1_out", "silu_out"));
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
  const auto a = net.op("PRelu", "prelu", {net.conv("c1", net.input("x", {1, 2, 4, 4})), "slope"});
  const auto b = net.op("Tanh", "tanh", {net.conv("c2", a)});
  net.output(net.conv("c3", b));
  EXPECT_THAT(roles(net), ElementsAre(NodeRole::kInteger, NodeRole::kInteger, NodeRole::kInteger,
                                      NodeRole::kFused, NodeRole::kInteger));
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
