// Upgrades from older opsets.
#include "unit/one_node.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

TEST(UpgradeOpset, KeepsNodesThatMeanTheSameEverywhere) {
  const Graph graph = OneNode("Relu", 1, {"x"}, [](NodeProto& n) {
                        set(n, "consumed_inputs", std::vector<std::int64_t>{0});
                      }).upgrade();
  EXPECT_THAT(ops_of(graph), ElementsAre("Relu"));
  EXPECT_TRUE(node_called(graph, "node").attributes.empty());
}

TEST(UpgradeOpset, AlignsTheOperandOfLegacyArithmeticWithItsAxis) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    const Graph graph = OneNode(op, 6, {"x", "b"},
                                [](NodeProto& n) {
                                  set(n, "broadcast", std::int64_t{1});
                                  set(n, "axis", std::int64_t{1});
                                })
                            .floats("b", {3}, {1, 2, 3})
                            .upgrade();
    EXPECT_THAT(ops_of(graph), ElementsAre(op));
    const Node& node = node_called(graph, "node");
    EXPECT_EQ(graph.value(node.inputs[1]).constant->shape(), Shape({3, 1, 1}));
    EXPECT_TRUE(node.attributes.empty());
  }
  // Without an axis the operand is aligned at the end, as in newer opsets.
  const Graph graph =
      OneNode("Add", 6, {"x", "b"}, [](NodeProto& n) { set(n, "broadcast", std::int64_t{1}); })
          .floats("b", {5}, {1, 2, 3, 4, 5})
          .upgrade();
  EXPECT_EQ(graph.value(node_called(graph, "node").inputs[1]).name, "b");
}

TEST(UpgradeOpset, UnsqueezesComputedOperandsOfLegacyArithmetic) {
  OneNode one("Add", 6, {"x", "b"}, [](NodeProto& n) {
    set(n, "broadcast", std::int64_t{1});
    set(n, "axis", std::int64_t{1});
  });
  *one.model.mutable_graph()->add_input() = tensor_info("b", {3, 4});
  const Graph graph = one.upgrade();
  EXPECT_THAT(ops_of(graph), ElementsAre("Unsqueeze", "Add"));
  EXPECT_THAT(ints_at(graph, 1, "node_operand"), ElementsAre(2));
  EXPECT_THAT(one.hide_rank().refusal(), HasSubstr("number of axes of input 0 is unknown"));
}

TEST(UpgradeOpset, FindsRanksBehindConvolutions) {
  OneNode one("Add", 6, {"c", "b"}, [](NodeProto& n) {
    set(n, "broadcast", std::int64_t{1});
    set(n, "axis", std::int64_t{1});
  });
  one.floats("b", {1, 1}, {1}).floats("w", {1, 3, 1, 1}, {1, 2, 3}).hide_rank();
  one.floats("b2", {2}, {1, 1});
  one.model.mutable_graph()->mutable_node(0)->set_input(1, std::string("b2"));
  *one.model.mutable_graph()->add_node() = node_proto("Conv", {"x", "w"}, {"p"});
  *one.model.mutable_graph()->add_node() = node_proto("Relu", {"p"}, {"c"});
  const Graph graph = one.upgrade();
  EXPECT_EQ(graph.value(node_called(graph, "node").inputs[1]).constant->shape(), Shape({2, 1, 1}));
}

TEST(UpgradeOpset, GivesTheSlopeOfPReluToTheChannels) {
  const Graph graph = OneNode("PRelu", 6, {"x", "s"}).floats("s", {3}, {1, 2, 3}).upgrade();
  EXPECT_EQ(graph.value(node_called(graph, "node").inputs[1]).constant->shape(), Shape({3, 1, 1}));
  const Graph single = OneNode("PRelu", 6, {"x", "s"}).floats("s", {1}, {1}).upgrade();
  EXPECT_EQ(single.value(node_called(single, "node").inputs[1]).name, "s");
}

TEST(UpgradeOpset, MovesTheLimitsOfClipToInputs) {
  const Graph both = OneNode("Clip", 6, {"x"}, [](NodeProto& n) {
                       set(n, "min", 0.0F);
                       set(n, "max", 6.0F);
                     }).upgrade();
  EXPECT_THAT(floats_at(both, 1), ElementsAre(0.0F));
  EXPECT_THAT(floats_at(both, 2), ElementsAre(6.0F));
  EXPECT_EQ(both.value(node_called(both, "node").inputs[1]).constant->shape(), Shape());
  const Graph upper =
      OneNode("Clip", 6, {"x"}, [](NodeProto& n) { set(n, "max", 6.0F); }).upgrade();
  EXPECT_FALSE(node_called(upper, "node").has_input(1));
  EXPECT_THAT(floats_at(upper, 2), ElementsAre(6.0F));
}

TEST(UpgradeOpset, NumbersTheTypeOfCast) {
  const Graph graph =
      OneNode("Cast", 1, {"x"}, [](NodeProto& n) { set(n, "to", std::string("INT32")); }).upgrade();
  EXPECT_EQ(node_called(graph, "node").get_int("to", 0), 6);
  const OneNode wrong("Cast", 1, {"x"}, [](NodeProto& n) { set(n, "to", std::string("BYTE")); });
  EXPECT_THAT(wrong.refusal(), HasSubstr("'to' names no type"));
  const Graph newer = OneNode("Cast", 19, {"x"}, [](NodeProto& n) {
                        set(n, "to", std::int64_t{6});
                        set(n, "saturate", std::int64_t{1});
                      }).upgrade();
  EXPECT_FALSE(node_called(newer, "node").has("saturate"));
}

TEST(UpgradeOpset, KeepsTheOldDefaultsOfSelu) {
  const Graph graph = OneNode("Selu", 1, {"x"}).upgrade();
  EXPECT_EQ(node_called(graph, "node").get_float("gamma", 0.0F), 1.0507F);
}

TEST(UpgradeOpset, MovesListsFromAttributesToInputs) {
  const Graph reshape = OneNode("Reshape", 1, {"x"}, [](NodeProto& n) {
                          set(n, "shape", Ints{6, 20});
                        }).upgrade();
  EXPECT_THAT(ints_at(reshape, 1), ElementsAre(6, 20));
  for (const char* op : {"Squeeze", "Unsqueeze"}) {
    const Graph graph =
        OneNode(op, 11, {"x"}, [](NodeProto& n) { set(n, "axes", Ints{0}); }).upgrade();
    EXPECT_THAT(ints_at(graph, 1), ElementsAre(0));
    EXPECT_TRUE(node_called(graph, "node").attributes.empty());
  }
  EXPECT_EQ(node_called(OneNode("Squeeze", 11, {"x"}).upgrade(), "node").inputs.size(), 1U);
  const Graph slice = OneNode("Slice", 9, {"x"}, [](NodeProto& n) {
                        set(n, "starts", Ints{1});
                        set(n, "ends", Ints{2});
                        set(n, "axes", Ints{3});
                      }).upgrade();
  EXPECT_THAT(ints_at(slice, 1), ElementsAre(1));
  EXPECT_THAT(ints_at(slice, 2), ElementsAre(2));
  EXPECT_THAT(ints_at(slice, 3), ElementsAre(3));
  const Graph sum = OneNode("ReduceSum", 11, {"x"}, [](NodeProto& n) {
                      set(n, "axes", Ints{2, 3});
                    }).upgrade();
  EXPECT_THAT(ints_at(sum, 1), ElementsAre(2, 3));
  const Graph split = OneNode("Split", 11, {"x"},
                              [](NodeProto& n) {
                                set(n, "axis", std::int64_t{1});
                                set(n, "split", Ints{1, 2});
                              },
                              {"y", "z"})
                          .upgrade();
  EXPECT_THAT(ints_at(split, 1), ElementsAre(1, 2));
  const Graph top = OneNode("TopK", 1, {"x"}, [](NodeProto& n) { set(n, "k", std::int64_t{2}); },
                            {"y", "indices"})
                        .upgrade();
  EXPECT_THAT(ints_at(top, 1), ElementsAre(2));
}

TEST(UpgradeOpset, MovesThePadsFromAttributesToInputs) {
  const Ints pads{0, 0, 1, 1, 0, 0, 2, 2};
  const Graph first =
      OneNode("Pad", 1, {"x"}, [&](NodeProto& n) { set(n, "paddings", pads); }).upgrade();
  EXPECT_EQ(ints_at(first, 1), pads);
  const Graph second = OneNode("Pad", 2, {"x"}, [&](NodeProto& n) {
                         set(n, "pads", pads);
                         set(n, "value", 0.5F);
                         set(n, "mode", std::string("constant"));
                       }).upgrade();
  EXPECT_EQ(ints_at(second, 1), pads);
  EXPECT_THAT(floats_at(second, 2), ElementsAre(0.5F));
}

TEST(UpgradeOpset, TurnsTheFirstTileIntoRepeats) {
  OneNode one("Tile", 1, {"x", "tiles", "axis"});
  const Graph graph = one.ints("tiles", {2}).ints("axis", {1}).upgrade();
  EXPECT_THAT(ints_at(graph, 1), ElementsAre(1, 2, 1, 1));
}

TEST(UpgradeOpset, GivesConcatItsFirstDefaultAxis) {
  EXPECT_EQ(node_called(OneNode("Concat", 1, {"x", "x"}).upgrade(), "node").get_int("axis", 0), 1);
}

TEST(UpgradeOpset, RenamesScatterAndModes) {
  const Graph scatter = OneNode("Scatter", 9, {"x", "i", "x"}).ints("i", {0}).upgrade();
  EXPECT_THAT(ops_of(scatter), ElementsAre("ScatterElements"));
  const Graph sample = OneNode("GridSample", 20, {"x", "x"}, [](NodeProto& n) {
                         set(n, "mode", std::string("linear"));
                       }).upgrade();
  EXPECT_EQ(node_called(sample, "node").get_string("mode", ""), "bilinear");
  const Graph align = OneNode("RoiAlign", 10, {"x", "r", "i"})
                          .floats("r", {1, 4}, {0, 0, 1, 1})
                          .ints("i", {0})
                          .upgrade();
  EXPECT_EQ(node_called(align, "node").get_string("coordinate_transformation_mode", ""),
            "output_half_pixel");
}

TEST(UpgradeOpset, TurnsUpsampleIntoResize) {
  const std::vector<float> scales{1, 1, 2, 2};
  const auto nearest = [](const Graph& graph) {
    const Node& node = node_called(graph, "node");
    EXPECT_EQ(node.op_type, "Resize");
    EXPECT_EQ(node.get_string("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(node.get_string("nearest_mode", ""), "floor");
    EXPECT_FALSE(node.has_input(1));
    return floats_at(graph, 2);
  };
  EXPECT_EQ(nearest(OneNode("Upsample", 9, {"x", "s"}).floats("s", {4}, scales).upgrade()), scales);
  EXPECT_EQ(
      nearest(
          OneNode("Upsample", 7, {"x"}, [&](NodeProto& n) { set(n, "scales", scales); }).upgrade()),
      scales);
  EXPECT_EQ(nearest(OneNode("Upsample", 1, {"x"},
                            [](NodeProto& n) {
                              set(n, "height_scale", 2.0F);
                              set(n, "width_scale", 2.0F);
                            })
                        .upgrade()),
            scales);
  const Graph linear = OneNode("Upsample", 9, {"x", "s"},
                               [](NodeProto& n) { set(n, "mode", std::string("bilinear")); })
                           .floats("s", {4}, scales)
                           .upgrade();
  EXPECT_EQ(node_called(linear, "node").get_string("mode", ""), "linear");
}

TEST(UpgradeOpset, SamplesTheFirstResizeAsItDid) {
  const Graph up = OneNode("Resize", 10, {"x", "s"}).floats("s", {4}, {1, 1, 2, 2}).upgrade();
  EXPECT_EQ(node_called(up, "node").get_string("nearest_mode", ""), "floor");
  const Graph down =
      OneNode("Resize", 10, {"x", "s"}).floats("s", {4}, {1, 1, 0.6F, 0.6F}).upgrade();
  EXPECT_EQ(node_called(down, "node").get_string("nearest_mode", ""), "ceil");
  OneNode both("Resize", 10, {"x", "s"});
  EXPECT_THAT(both.floats("s", {4}, {1, 1, 0.6F, 2}).refusal(), HasSubstr("shrinks another"));
}

TEST(UpgradeOpset, DropsEmptyInputsOfResize) {
  const Graph graph = OneNode("Resize", 11, {"x", "roi", "scales", "sizes"})
                          .floats("roi", {0}, {})
                          .floats("scales", {0}, {})
                          .ints("sizes", {2, 3, 8, 10})
                          .upgrade();
  const Node& node = node_called(graph, "node");
  EXPECT_FALSE(node.has_input(1));
  EXPECT_FALSE(node.has_input(2));
  EXPECT_THAT(ints_at(graph, 3), ElementsAre(2, 3, 8, 10));
}

TEST(UpgradeOpset, DropsTrainingFromNormalizationAndDropout) {
  OneNode norm("BatchNormalization", 6, {"x", "a", "b", "c", "d"},
               [](NodeProto& n) {
                 set(n, "is_test", std::int64_t{1});
                 set(n, "spatial", std::int64_t{1});
                 set(n, "momentum", 0.9F);
               },
               {"y", "m", "v", "sm", "sv"});
  for (const char* name : {"a", "b", "c", "d"}) norm.floats(name, {3}, {1, 2, 3});
  const Graph graph = norm.upgrade();
  EXPECT_EQ(node_called(graph, "node").outputs.size(), 1U);
  *norm.model.mutable_graph()->add_output() = tensor_info("m", {3});
  EXPECT_THAT(norm.refusal(), HasSubstr("outputs of training are read"));
  OneNode apart("BatchNormalization", 7, {"x", "a", "a", "a", "a"},
                [](NodeProto& n) { set(n, "spatial", std::int64_t{0}); });
  EXPECT_THAT(apart.floats("a", {3}, {1, 2, 3}).refusal(), HasSubstr("spatial = 0"));

  const Graph dropout = OneNode("Dropout", 6, {"x"}, [](NodeProto& n) {
                          set(n, "ratio", 0.5F);
                          set(n, "is_test", std::int64_t{1});
                        }).upgrade();
  EXPECT_TRUE(node_called(dropout, "node").attributes.empty());
}

TEST(UpgradeOpset, DropsFlagsThatSayNothing) {
  const std::vector<std::int64_t> ones{1, 1};
  const std::vector<std::int64_t> window{2, 2};
  const Graph pool = OneNode("AveragePool", 19, {"x"}, [&](NodeProto& n) {
                       set(n, "kernel_shape", window);
                       set(n, "dilations", ones);
                     }).upgrade();
  EXPECT_FALSE(node_called(pool, "node").has("dilations"));
  const OneNode dilated("GlobalMaxPool", 19, {"x"},
                        [&](NodeProto& n) { set(n, "dilations", window); });
  EXPECT_THAT(dilated.refusal(), HasSubstr("attribute 'dilations' of opset 19"));
  const Graph lp = OneNode("LpPool", 1, {"x"}, [&](NodeProto& n) {
                     set(n, "kernel_shape", window);
                     set(n, "p", 2.0F);
                   }).upgrade();
  EXPECT_EQ(node_called(lp, "node").get_int("p", 0), 2);
  const Graph gemm = OneNode("Gemm", 6, {"a", "a", "a"},
                             [](NodeProto& n) { set(n, "broadcast", std::int64_t{1}); })
                         .floats("a", {1, 1}, {1})
                         .upgrade();
  EXPECT_TRUE(node_called(gemm, "node").attributes.empty());
  const Graph lstm = OneNode("LSTM", 1, {"a", "a", "a"},
                             [](NodeProto& n) {
                               set(n, "hidden_size", std::int64_t{1});
                               set(n, "output_sequence", std::int64_t{1});
                             })
                         .floats("a", {1, 1, 1}, {1})
                         .upgrade();
  EXPECT_FALSE(node_called(lstm, "node").has("output_sequence"));
}

// If `dilation` was ignored silently, the result would change. If another node raised the opset of
// such a model, the saved model could not be read again.
TEST(UpgradeOpset, RefusesAttributesThatTheOperatorDoesNotHave) {
  const auto refusal_of = [](const std::string& op, std::int64_t opset, const std::string& name) {
    return OneNode(op, opset, {"x", "x"}, [&](NodeProto& n) { set(n, name, std::int64_t{1}); })
        .refusal(ErrorCode::kInvalidModel);
  };
  EXPECT_THAT(refusal_of("Conv", 13, "dilation"),
              HasSubstr("has the attribute 'dilation', which Conv of opset 13 does not have"));
  EXPECT_THAT(refusal_of("Add", 7, "broadcast"),
              HasSubstr("'broadcast', which Add of opset 7 does not have"));
  EXPECT_THAT(refusal_of("Div", 17, "alpha"), HasSubstr("'alpha'"));
  // ONNX's checker lets tools keep notes in such names.
  const OneNode noted("Div", 13, {"x", "x"},
                      [](NodeProto& n) { set(n, "__note", std::int64_t{1}); });
  EXPECT_TRUE(node_called(noted.upgrade(), "node").has("__note"));
}

TEST(UpgradeOpset, KeepsTheRowsOfEarlySoftmax) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const Graph rows = OneNode(op, 11, {"x"}).upgrade();
    EXPECT_THAT(ops_of(rows), ElementsAre("Shape", "Flatten", op, "Reshape"));
    EXPECT_EQ(node_called(rows, "node").get_int("axis", 0), -1);
    EXPECT_EQ(node_called(rows, "node_rows").get_int("axis", 0), 1);
    for (const std::int64_t last : {3, -1}) {
      const Graph graph =
          OneNode(op, 11, {"x"}, [&](NodeProto& n) { set(n, "axis", last); }).upgrade();
      EXPECT_THAT(ops_of(graph), ElementsAre(op));
    }
    const Graph unknown = OneNode(op, 11, {"x"}).hide_rank().upgrade();
    EXPECT_THAT(ops_of(unknown), ElementsAre("Shape", "Flatten", op, "Reshape"));
    const Graph modern = OneNode(op, 13, {"x"}).upgrade();
    EXPECT_FALSE(node_called(modern, "node").has("axis"));
  }
}

}  // namespace
}  // namespace qtool
