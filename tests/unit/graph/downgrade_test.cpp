// Conversion from opsets newer than the canonical one.
#include "unit/one_node.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UpgradeOpset, SpellsOutNewActivations) {
  EXPECT_THAT(ops_of(OneNode("Gelu", 20, {"x"}).upgrade()),
              ElementsAre("Mul", "Erf", "Add", "Mul", "Mul"));
  const Graph tanh = OneNode("Gelu", 20, {"x"}, [](NodeProto& n) {
                       set(n, "approximate", std::string("tanh"));
                     }).upgrade();
  EXPECT_THAT(ops_of(tanh),
              ElementsAre("Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"));
  EXPECT_THAT(ops_of(OneNode("Mish", 18, {"x"}).upgrade()), ElementsAre("Softplus", "Tanh", "Mul"));
  EXPECT_THAT(ops_of(OneNode("Swish", 24, {"x"}).upgrade()), ElementsAre("Sigmoid", "Mul"));
}

TEST(UpgradeOpset, SpreadsPadsOverAllAxes) {
  const Graph graph = OneNode("Pad", 18, {"x", "pads", "", "axes"})
                          .ints("pads", {1, 2, 3, 4})
                          .ints("axes", {-1, 2})
                          .upgrade();
  EXPECT_THAT(ints_at(graph, 1), ElementsAre(0, 0, 2, 1, 0, 0, 4, 3));
  EXPECT_EQ(node_called(graph, "node").inputs.size(), 3U);
}

TEST(UpgradeOpset, SplitsUnevenlyWhereOpset18Would) {
  const auto count = [](NodeProto& n) {
    set(n, "axis", std::int64_t{3});
    set(n, "num_outputs", std::int64_t{2});
  };
  const Graph uneven = OneNode("Split", 18, {"x"}, count, {"y", "z"}).upgrade();
  EXPECT_THAT(ints_at(uneven, 1), ElementsAre(3, 2));
  const Graph even =
      OneNode("Split", 18, {"x"}, [](NodeProto& n) { set(n, "num_outputs", std::int64_t{2}); },
              {"y", "z"})
          .upgrade();
  EXPECT_EQ(node_called(even, "node").inputs.size(), 1U);
}

TEST(UpgradeOpset, ReadsTheAxesOfResize) {
  const auto axes = [](NodeProto& n) {
    set(n, "axes", std::vector<std::int64_t>{2, 3});
    set(n, "antialias", std::int64_t{0});
    set(n, "keep_aspect_ratio_policy", std::string("stretch"));
  };
  const Graph scales =
      OneNode("Resize", 18, {"x", "", "s"}, axes).floats("s", {2}, {2, 3}).upgrade();
  EXPECT_THAT(floats_at(scales, 2), ElementsAre(1, 1, 2, 3));
  const Graph sizes = OneNode("Resize", 18, {"x", "", "", "s"}, axes).ints("s", {8, 9}).upgrade();
  EXPECT_THAT(ints_at(sizes, 3), ElementsAre(2, 3, 8, 9));
}

TEST(UpgradeOpset, SpellsOutGroupNormalization) {
  const auto groups = [](NodeProto& n) { set(n, "num_groups", std::int64_t{3}); };
  const Graph per_group = OneNode("GroupNormalization", 18, {"x", "s", "s"}, groups)
                              .floats("s", {3}, {1, 2, 3})
                              .upgrade();
  EXPECT_THAT(ops_of(per_group),
              ElementsAre("Shape", "Reshape", "InstanceNormalization", "Reshape"));
  const Graph per_channel = OneNode("GroupNormalization", 21, {"x", "s", "s"}, groups)
                                .floats("s", {3}, {1, 2, 3})
                                .upgrade();
  EXPECT_THAT(ops_of(per_channel), ElementsAre("Shape", "Unsqueeze", "Unsqueeze", "Reshape",
                                               "InstanceNormalization", "Reshape", "Mul", "Add"));
}

// Without a rewrite these operators would not run, and a saved copy, whose opset has such an
// operator, could not be read.
TEST(UpgradeOpset, ReadsOperatorsThatAreNewerThanTheOpset) {
  EXPECT_EQ(ops_of(OneNode("Mish", 13, {"x"}).upgrade()),
            ops_of(OneNode("Mish", 18, {"x"}).upgrade()));
  EXPECT_EQ(ops_of(OneNode("Gelu", 17, {"x"}).upgrade()),
            ops_of(OneNode("Gelu", 20, {"x"}).upgrade()));
  EXPECT_THAT(
      OneNode("GroupNormalization", 13, {"x", "s", "s"}).floats("s", {3}, {1, 2, 3}).refusal(),
      HasSubstr("attribute 'num_groups' is missing"));
}

TEST(UpgradeOpset, TurnsTheAxesOfReductionsBackIntoAttributes) {
  const Graph graph = OneNode("ReduceMean", 18, {"x", "a"}).ints("a", {2, 3}).upgrade();
  EXPECT_THAT(node_called(graph, "node").get_ints("axes", {}), ElementsAre(2, 3));
  EXPECT_EQ(node_called(graph, "node").inputs.size(), 1U);
  const Graph all = OneNode("ReduceMax", 20, {"x"}).upgrade();
  EXPECT_TRUE(node_called(all, "node").attributes.empty());
  const auto noop = [](NodeProto& n) { set(n, "noop_with_empty_axes", std::int64_t{1}); };
  EXPECT_THAT(ops_of(OneNode("ReduceMin", 18, {"x"}, noop).upgrade()), ElementsAre("Identity"));
  EXPECT_THAT(OneNode("ReduceL2", 18, {"x"}, noop).refusal(), HasSubstr("over no axis"));
  EXPECT_THAT(OneNode("ReduceMean", 18, {"x", "x"}).refusal(), HasSubstr("depend on the data"));
}

TEST(UpgradeOpset, KeepsTheMeaningOfNewQuantization) {
  const auto graph = [](std::int64_t type) {
    return OneNode("QuantizeLinear", 21, {"x", "s"},
                   [type](NodeProto& n) {
                     set(n, "output_dtype", type);
                     set(n, "saturate", std::int64_t{1});
                     set(n, "block_size", std::int64_t{0});
                   })
        .floats("s", {}, {0.5F})
        .upgrade();
  };
  const Graph s8 = graph(3);
  EXPECT_EQ(s8.value(node_called(s8, "node").inputs.at(2)).dtype, DType::kInt8);
  EXPECT_EQ(node_called(graph(2), "node").inputs.size(), 2U);
  const auto blocks = [](NodeProto& n) { set(n, "block_size", std::int64_t{16}); };
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
    OneNode one(op, 21, {"x", "s"}, blocks);
    EXPECT_THAT(one.floats("s", {}, {0.5F}).refusal(), HasSubstr("in blocks"));
  }
}

TEST(UpgradeOpset, NamesOperatorsThatAreTooNew) {
  EXPECT_THAT(OneNode("RMSNormalization", 23, {"x", "x"}).refusal(),
              HasSubstr("in a model of opset 23: RMSNormalization (1 node 'node')"));
  EXPECT_THAT(OneNode("DFT", 20, {"x", "x", "x"}).refusal(), HasSubstr("has 3 inputs"));
}

}  // namespace
}  // namespace qtool
