#include "quantize/placement/placement.h"

#include <gmock/gmock.h>

#include "qtool/base/error.h"
#include "unit/placed_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Placement, ObservesTheResultAfterAFusedActivation) {
  Net net;
  const auto a = net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  net.output(net.conv("c2", a));
  EXPECT_THAT(pairs(net), ElementsAre("x", "r1_out"));
  EXPECT_EQ(placed(net, "r1").role, NodeRole::kFused);
  EXPECT_EQ(placed(net, "c1").role, NodeRole::kInteger);
}

TEST(Placement, DoesNotFuseAnActivationWhoseInputIsReadElsewhere) {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  const auto r = net.op("Relu", "r1", {c});
  net.output(net.conv("c3", net.op("Add", "add", {c, r})));
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "r1_out", "add_out"));
  EXPECT_EQ(placed(net, "r1").role, NodeRole::kInteger);
}

TEST(Placement, DoesNotFuseAnActivationWhoseInputIsAGraphOutput) {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(c);
  net.output(net.conv("c2", net.op("Relu", "r1", {c})));
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "r1_out"));
}

TEST(Placement, FusesOnlyAClipFromZero) {
  Net net;
  net.constant("zero", Tensor::scalar<float>(0.0F));
  net.constant("low", Tensor::scalar<float>(-1.0F));
  net.constant("six", Tensor::scalar<float>(6.0F));
  const auto a =
      net.op("Clip", "k1", {net.conv("c1", net.input("x", {1, 2, 4, 4})), "zero", "six"});
  const auto b = net.op("Clip", "k2", {net.conv("c2", a), "low", "six"});
  net.output(net.conv("c3", b));
  EXPECT_THAT(pairs(net), ElementsAre("x", "k1_out", "c2_out", "k2_out"));
}

TEST(Placement, FusesTheReluBehindAResidualAdd) {
  Net net;
  const auto a = net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  const auto sum = net.op("Add", "add", {net.conv("c2", a), a});
  net.output(net.conv("c3", net.op("Relu", "r2", {sum})));
  EXPECT_THAT(pairs(net), ElementsAre("x", "r1_out", "c2_out", "r2_out"));
  EXPECT_EQ(placed(net, "add").role, NodeRole::kInteger);
  EXPECT_EQ(placed(net, "r2").role, NodeRole::kFused);
}

/// Two convolutions after a Relu, whose result is added to the result of that Relu.
Net residual_block() {
  Net net;
  const auto r = net.op("Relu", "r", {net.conv("c0", net.input("x", {1, 2, 4, 4}))});
  const auto main = net.conv("c2", net.op("Relu", "r1", {net.conv("c1", r)}));
  net.output(net.conv("c3", net.op("Relu", "r2", {net.op("Add", "add", {main, r})})));
  return net;
}

TEST(Placement, PutsNoPairBeforeAnAddWhereTheTargetAddsBeforeItRounds) {
  const Net net = residual_block();
  const Target& own = find_target("qtool");
  EXPECT_THAT(pairs(net, {}, own), ElementsAre("x", "r_out", "r1_out", "r2_out"));
  EXPECT_EQ(place(net.graph, own).residuals, 1);
  EXPECT_THAT(pairs(net), ElementsAre("x", "r_out", "r1_out", "c2_out", "r2_out"));
  EXPECT_EQ(place(net.graph, cpu()).residuals, 0);
}

// The convolution before it writes reals where the target has a kernel for that.
TEST(Placement, PutsAPairBeforeAnAddThatStaysRealWhereTheTargetNeedsOne) {
  const Net net = residual_block();
  const PlacementOptions options{.exclude = {"add"}, .has_range = {}};
  const Target& own = find_target("qtool");
  EXPECT_THAT(pairs(net, options, own), ElementsAre("x", "r_out", "r1_out", "add_out", "r2_out"));
  EXPECT_EQ(place(net.graph, own, options).residuals, 0);
  EXPECT_THAT(pairs(net, options, cpu()),
              ElementsAre("x", "r_out", "r1_out", "c2_out", "add_out", "r2_out"));
}

TEST(Placement, LeavesGraphOutputsReal) {
  Net net;
  net.output(net.conv("c1", net.input("x", {1, 2, 4, 4})));
  EXPECT_THAT(pairs(net), ElementsAre("x"));
  EXPECT_EQ(placed(net, "c1").role, NodeRole::kInteger);
}

TEST(Placement, QuantizesAGraphOutputThatIntegerNodesReadToo) {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(c);
  net.output(net.conv("c2", c));
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out"));
}

TEST(Placement, KeepsCombiningNodesRealWhenNoIntegerNodeFollows) {
  Net net;
  const auto x = net.input("x", {1, 2, 4, 4});
  const auto c = net.conv("c1", x);
  net.output(net.op("Mul", "mul", {c, net.op("Sigmoid", "sig", {c})}));
  EXPECT_THAT(pairs(net), ElementsAre("x"));
  EXPECT_EQ(placed(net, "mul").reason, "its result is read in FP32 only");
}

TEST(Placement, PoolingReadsIntegersBeforeARealOutput) {
  Net net;
  const auto r = net.op("Relu", "r1", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  net.output(net.op("Flatten", "flat", {net.op("GlobalAveragePool", "gap", {r})}));
  EXPECT_THAT(pairs(net), ElementsAre("x", "r1_out"));
  EXPECT_EQ(placed(net, "gap").role, NodeRole::kInteger);
  EXPECT_EQ(placed(net, "flat").role, NodeRole::kFloat);
}

TEST(Placement, PassingNodesShareTheMapOfTheirInput) {
  Net net;
  net.constant("shape", Tensor::of<std::int64_t>({2}, {1, 32}));
  net.constant("w", Tensor::of<float>({32, 1}, std::vector<float>(32, 0.5F)));
  const auto p = net.op("MaxPool", "pool", {net.conv("c1", net.input("x", {1, 2, 4, 4}))});
  const auto r = net.op("Reshape", "reshape", {p, "shape"});
  net.output(net.op("MatMul", "fc", {r, "w"}));
  const Placement placement = place(net.graph, cpu());
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "pool_out", "reshape_out"));
  const auto source = [&](std::string_view name) { return placement.source[net.id(name)]; };
  EXPECT_EQ(source("reshape_out"), net.id("c1_out"));
  EXPECT_EQ(source("pool_out"), net.id("c1_out"));
  EXPECT_EQ(placed(net, "pool").role, NodeRole::kPassing);
}

TEST(Placement, ConvolutionsInsideTheNetworkWriteIntegersForRealReadersToo) {
  Net net;
  const auto c = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(net.conv("c2", net.op("Tanh", "tanh", {c})));
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "tanh_out"));
  EXPECT_EQ(placed(net, "tanh").reason, "target 'cpu' does not list Tanh");
}

TEST(Placement, ConvolutionsAtTheEndWriteRealsForRealReaders) {
  Net net;
  net.output(net.op("Softmax", "soft", {net.conv("c1", net.input("x", {1, 2, 4, 4}))}));
  EXPECT_THAT(pairs(net), ElementsAre("x"));
}

TEST(Placement, ExcludedNodesStayRealAndSayWhy) {
  Net net;
  const auto a = net.conv("block/c1", net.input("x", {1, 2, 4, 4}));
  net.output(net.conv("block/c2", a));
  const PlacementOptions options{.exclude = {"*/c2"}, .has_range = {}};
  EXPECT_EQ(placed(net, "block/c2", options).role, NodeRole::kFloat);
  EXPECT_EQ(placed(net, "block/c2", options).reason, "excluded by --exclude");
  EXPECT_EQ(placed(net, "block/c1", options).role, NodeRole::kInteger);
}

TEST(Placement, AnExclusionThatMatchesNothingNamesTheNearest) {
  Net net;
  net.output(net.conv("conv_a", net.conv("conv_b", net.input("x", {1, 2, 4, 4}))));
  try {
    place(net.graph, cpu(), {.exclude = {"conv_c"}, .has_range = {}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("'conv_c' matches no node"));
    EXPECT_THAT(error.what(), HasSubstr("'conv_a'"));
  }
}

TEST(Placement, ATensorWithoutARangeKeepsItsReadersReal) {
  Net net;
  net.output(net.conv("c2", net.conv("c1", net.input("x", {1, 2, 4, 4}))));
  PlacementOptions options;
  options.has_range = [](std::string_view name) { return name == "x"; };
  EXPECT_EQ(placed(net, "c1", options).role, NodeRole::kInteger);
  EXPECT_EQ(placed(net, "c2", options).reason, "the table has no range for its input 'c1_out'");
  EXPECT_THAT(pairs(net, options), ElementsAre("x"));
}

TEST(Placement, RefusesOperandsWithAReason) {
  Net net;
  const auto x = net.input("x", {2, 2});
  net.constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  net.constant("huge", Tensor(DType::kFloat32, Shape{70000, 1}));
  net.constant("nan", Tensor::of<float>({2, 2}, {1, 2, 3, std::nanf("")}));
  net.constant("w4", Tensor(DType::kFloat32, Shape{2, 2, 3, 1, 1, 1}));
  net.constant("one", Tensor::scalar<float>(1.0F));
  net.constant("pads", Tensor::of<std::int64_t>({4}, {0, 1, 0, 1}));
  net.output(net.op("Gemm", "transposed", {x, "w"}, {{"transA", std::int64_t{1}}}));
  net.output(net.op("MatMul", "deep", {net.input("wide", {1, 70000}), "huge"}));
  net.output(net.op("MatMul", "not_finite", {x, "nan"}));
  net.output(net.op("Gemm", "computed", {x, net.op("Exp", "exp", {x})}));
  net.output(net.op("Conv", "four_axes", {net.input("field", {1, 2, 9, 9, 9, 9}), "w4"}));
  net.output(net.op("MatMul", "after_pad", {net.op("Pad", "pad", {x, "pads", "one"}), "w"}));
  EXPECT_EQ(placed(net, "transposed").reason, "its activation is transposed");
  EXPECT_EQ(placed(net, "deep").reason, "a sum of 70000 products could overflow 32 bits");
  EXPECT_EQ(placed(net, "not_finite").reason, "its weight 'nan' has NaN or infinite values");
  EXPECT_EQ(placed(net, "computed").reason, "its weights are not a constant");
  EXPECT_EQ(placed(net, "four_axes").reason, "its weight has 4 spatial axes");
  EXPECT_EQ(placed(net, "pad").reason, "it pads with a value other than 0");
}

TEST(Placement, SquaresADifferenceBeforeItIsRounded) {
  Net net;
  const auto a = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  const auto b = net.conv("c2", a);
  net.constant("two", Tensor::scalar<float>(2.0F));
  const auto d = net.op("Sub", "difference", {a, b});
  net.output(net.conv("c3", net.op("Pow", "square", {d, "two"})));
  EXPECT_THAT(pairs(net, {}, find_target("qtool")),
              ElementsAre("x", "c1_out", "c2_out", "square_out"));
  EXPECT_EQ(placed(net, "difference").reason, "target 'cpu' does not list Sub");
}

TEST(Placement, KeepsNormalizationsReal) {
  Net net;
  const auto a = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  const auto root = net.op("Sqrt", "root", {net.op("Sigmoid", "s", {a})});
  const auto first = net.conv("c2", net.op("Div", "by_root", {a, root}));
  net.constant("one", Tensor::scalar<float>(1.0F));
  net.output(net.conv("c3", net.op("Div", "of_one", {"one", first})));
  const Placement placement = place(net.graph, find_target("qtool"), {});
  std::vector<std::string> reasons;
  for (const NodePlacement& node : placement.nodes) {
    if (net.graph.node(node.id).is("Div")) reasons.push_back(node.reason);
  }
  EXPECT_THAT(reasons, ElementsAre("it divides by a root, as a normalization does",
                                   "it divides a constant"));
}

TEST(Placement, InterpolatesBytesForQtoolOnly) {
  Net net;
  net.constant("scales", Tensor::of<float>({4}, {1, 1, 2, 2}));
  const auto larger =
      net.op("Resize", "larger", {net.conv("c1", net.input("x", {1, 2, 4, 4})), "", "scales"},
             {{"mode", std::string("linear")}});
  net.output(net.op("ArgMax", "best", {net.conv("c2", larger)}, {{"axis", std::int64_t{1}}}));
  EXPECT_EQ(placed(net, "larger").reason, "it interpolates (mode 'linear')");
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "larger_out"));
  EXPECT_THAT(pairs(net, {}, find_target("qtool")),
              ElementsAre("x", "c1_out", "larger_out", "c2_out"));
}

TEST(Placement, TakesRowsAndVolumesWhereItTakesImages) {
  Net net;
  net.constant("w", Tensor(DType::kFloat32, Shape{16, 16, 2, 2, 2}));
  net.constant("v", Tensor(DType::kFloat32, Shape{32, 32, 5}));
  net.constant("twice", Tensor::of<float>({5}, {1, 1, 2, 2, 2}));
  net.constant("longer", Tensor::of<float>({3}, {1, 1, 2}));
  const std::map<std::string, Attribute, std::less<>> linear = {{"mode", std::string("linear")}};
  const auto volume = net.op("ConvTranspose", "up", {net.input("x", {1, 16, 4, 4, 4}), "w"},
                             {{"strides", std::vector<std::int64_t>{2, 2, 2}}});
  net.output(net.op("ConvTranspose", "last_of_volumes",
                    {net.op("Resize", "of_volumes", {volume, "", "twice"}, linear), "w"}));
  const auto row = net.op("Conv", "conv", {net.input("y", {1, 32, 40}), "v"});
  const auto longer = net.op("Resize", "of_rows", {row, "", "longer"}, linear);
  net.output(net.op("Conv", "last_of_rows", {longer, "v"}));
  for (const std::string_view name : {"cpu", "qtool"}) {
    const Target& target = find_target(name);
    const Placement placement = place(net.graph, target, {});
    for (const NodePlacement& node : placement.nodes) {
      const Node& placed = net.graph.node(node.id);
      const bool integer = name == "qtool" || placed.is("Conv");
      EXPECT_EQ(node.role != NodeRole::kFloat, integer) << name << ": " << placed.name;
    }
  }
}

TEST(Placement, AveragesThePixelsOfEachChannelOnly) {
  Net net;
  const auto a = net.conv("c1", net.input("x", {1, 2, 4, 4}));
  net.output(net.op("ReduceMean", "pixels", {a}, {{"axes", std::vector<std::int64_t>{-1, 2}}}));
  net.output(net.op("ReduceMean", "channels", {a}, {{"axes", std::vector<std::int64_t>{1}}}));
  const Placement placement = place(net.graph, find_target("qtool"), {});
  for (const NodePlacement& node : placement.nodes) {
    if (!net.graph.node(node.id).is("ReduceMean")) continue;
    const bool pixels = net.graph.node(node.id).name == "pixels";
    EXPECT_EQ(node.role, pixels ? NodeRole::kInteger : NodeRole::kFloat);
    if (!pixels) {
      EXPECT_EQ(node.reason, "it does not average the pixels of each channel");
    }
  }
}

TEST(Placement, LeavesShapeArithmeticAlone) {
  Net net;
  const auto x = net.input("x", {1, 2, 4, 4});
  net.constant("zero", Tensor::scalar<std::int64_t>(0));
  net.constant("minus", Tensor::of<std::int64_t>({1}, {-1}));
  net.constant("axes", Tensor::of<std::int64_t>({1}, {0}));
  const auto batch = net.op("Gather", "batch", {net.op("Shape", "shape", {x}), "zero"});
  const auto dims = net.op("Concat", "dims", {net.op("Unsqueeze", "u", {batch, "axes"}), "minus"},
                           {{"axis", std::int64_t{0}}});
  const auto c = net.conv("c1", x);
  net.constant("w", Tensor(DType::kFloat32, Shape{32, 1}));
  net.output(net.op("MatMul", "fc", {net.op("Reshape", "reshape", {c, dims}), "w"}));
  EXPECT_THAT(pairs(net), ElementsAre("x", "c1_out", "reshape_out"));
  EXPECT_EQ(placed(net, "dims").role, NodeRole::kNotReal);
  EXPECT_EQ(placed(net, "batch").role, NodeRole::kNotReal);
}

TEST(Placement, DoublePrecisionStaysReal) {
  Net net;
  const ValueId x = net.graph.add_value("x");
  net.graph.declare(x, DType::kFloat64, std::nullopt);
  net.graph.add_input(x);
  net.constant("w", Tensor(DType::kFloat64, Shape{2, 2}));
  net.output(net.op("MatMul", "fc", {"x", "w"}));
  EXPECT_EQ(placed(net, "fc").reason, "'x' is float64, not float32");
}

TEST(Targets, AreFoundByNameOrNamedInTheError) {
  EXPECT_EQ(find_target(kDefaultTarget).name, "cpu");
  EXPECT_THROW(find_target("gpu"), Error);
}

TEST(Placements, PlaceAsExcludingTheNodesDoes) {
  Net net;
  std::string last = net.input("x", {1, 2, 4, 4});
  for (const std::string name : {"a", "b", "c", "d"}) {
    last = net.op("Relu", name + "_relu", {net.conv(name, last)});
  }
  net.output(net.op("Add", "add", {last, "a_relu_out"}));
  PlacementOptions options;
  options.exclude = {"d"};
  const Placements placements(net.graph, cpu(), options);
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {}, {"b"}, {"b", "b_relu", "c"}, {"a", "b", "c"}, {"add"}}) {
    PlacementOptions all = options;
    all.exclude.insert(all.exclude.end(), names.begin(), names.end());
    std::vector<NodeId> nodes;
    for (const std::string& name : names) nodes.push_back(node_named(net.graph, name));
    const Placement expected = place(net.graph, cpu(), all);
    const Placement found = placements.without(nodes);
    EXPECT_EQ(found.quantized, expected.quantized);
    EXPECT_EQ(found.source, expected.source);
    ASSERT_EQ(found.nodes.size(), expected.nodes.size());
    for (std::size_t i = 0; i < found.nodes.size(); ++i) {
      EXPECT_EQ(found.nodes[i].role, expected.nodes[i].role);
      EXPECT_EQ(found.nodes[i].reason, expected.nodes[i].reason);
    }
  }
}

// The biases are corrected row by row of W, and stored by the rows of R.
TEST(Placement, KeepsARecurrentLayerInFp32WhoseWeightsDoNotFitEachOther) {
  const auto role_of = [](Shape w, Shape r) {
    Net net;
    net.input("x", {3, 1, 64});
    net.constant("w", Tensor(DType::kFloat32, std::move(w)));
    net.constant("r", Tensor(DType::kFloat32, std::move(r)));
    net.output(net.op("GRU", "gru", {"x", "w", "r"}, {{"hidden_size", std::int64_t{8}}}));
    return placed(net, "gru").role;
  };
  EXPECT_EQ(role_of({1, 24, 64}, {1, 24, 8}), NodeRole::kInteger);
  EXPECT_EQ(role_of({1, 24, 64}, {2, 24, 8}), NodeRole::kFloat);
  EXPECT_EQ(role_of({1, 24, 64}, {1, 32, 8}), NodeRole::kFloat);
}

// Exporters leave out the states of all steps where only the last one is used.
TEST(Placement, TakesARecurrentLayerThatGivesItsLastStateAlone) {
  Net net;
  net.input("x", {3, 1, 64});
  net.constant("w", Tensor(DType::kFloat32, {1, 24, 64}));
  net.constant("r", Tensor(DType::kFloat32, {1, 24, 8}));
  Node gru;
  gru.name = "gru";
  gru.op_type = "GRU";
  gru.inputs = {net.id("x"), net.id("w"), net.id("r")};
  gru.outputs = {kNoValue, net.graph.add_value("last")};
  gru.attributes = {{"hidden_size", std::int64_t{8}}};
  net.graph.add_node(std::move(gru));
  net.output("last");
  EXPECT_EQ(placed(net, "gru").role, NodeRole::kInteger);
}

}  // namespace
}  // namespace qtool
