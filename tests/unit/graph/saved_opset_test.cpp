// Graphs with operators or attributes newer than the canonical opset are saved in the opset that
// has them.
#include "unit/one_node.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;

// y = op(x), and a reduction and a split beside it, in opset 20.
Graph prepared(const std::string& op, const std::vector<std::string>& inputs,
               const SetAttributes& attributes = {}) {
  OneNode one(op, 20, inputs, attributes);
  onnx::GraphProto& graph = *one.model.mutable_graph();
  one.ints("axes", {2, 3}).ints("size", {2, 3, 2, 2}).floats("scales", {2}, {2, 2});
  *graph.add_node() = node_proto("ReduceMean", {"x", "axes"}, {"mean"});
  NodeProto split = node_proto("Split", {"x"}, {"first", "second"});
  set(split, "num_outputs", std::int64_t{2});
  *graph.add_node() = split;
  for (const char* output : {"mean", "second"}) *graph.add_output() = tensor_info(output, {1});
  Graph loaded = load_onnx_bytes(one.model.SerializeAsString(), "", "model");
  upgrade_opset(loaded);
  EXPECT_EQ(loaded.info.opsets.at(""), kCanonicalOpset);
  return loaded;
}

TEST(RaiseOpset, SavesNewerOperatorsInTheOpsetThatHasThem) {
  const Graph graph = prepared("Resize", {"x", "", "scales"}, [](NodeProto& n) {
    set(n, "axes", std::vector<std::int64_t>{2, 3});
    set(n, "mode", std::string("linear"));
    set(n, "antialias", std::int64_t{1});
  });
  const onnx::ModelProto model = saved(graph);
  EXPECT_EQ(model.opset_import(0).version(), 18);
  for (const NodeProto& node : model.graph().node()) {
    if (node.op_type() == "ReduceMean") {
      EXPECT_EQ(node.input_size(), 2);
      EXPECT_EQ(node.attribute_size(), 0);
    } else if (node.op_type() == "Split") {
      ASSERT_EQ(node.attribute_size(), 1);
      EXPECT_EQ(node.attribute(0).name(), "num_outputs");
      EXPECT_EQ(node.attribute(0).i(), 2);
    }
  }
  Graph again = load_onnx_bytes(model.SerializeAsString(), "", "model");
  upgrade_opset(again);
  EXPECT_EQ(ops_of(again), ops_of(graph));
  for (const char* name : {"node", "ReduceMean_mean", "Split_first"}) {
    EXPECT_EQ(node_called(again, name).attributes, node_called(graph, name).attributes) << name;
    EXPECT_EQ(node_called(again, name).inputs.size(), node_called(graph, name).inputs.size());
  }
}

TEST(RaiseOpset, SavesQuantizationTo16BitsInOpset21) {
  OneNode one("QuantizeLinear", 21, {"x", "scale"},
              [](NodeProto& n) { set(n, "output_dtype", std::int64_t{onnx::TensorProto::INT16}); });
  Graph graph = load_onnx_bytes(one.floats("scale", {}, {0.5F}).model.SerializeAsString(), "", "m");
  upgrade_opset(graph);
  EXPECT_EQ(least_opset(graph), 21);
  EXPECT_EQ(saved(graph).opset_import(0).version(), 21);
  Graph bytes = load_onnx_bytes(OneNode("QuantizeLinear", 21, {"x", "scale"})
                                    .floats("scale", {}, {0.5F})
                                    .model.SerializeAsString(),
                                "", "m");
  upgrade_opset(bytes);
  EXPECT_EQ(least_opset(bytes), kCanonicalOpset);
}

TEST(RaiseOpset, IsAsHighAsTheNewestNode) {
  EXPECT_EQ(least_opset(prepared("AffineGrid", {"x", "size"})), 20);
  EXPECT_EQ(least_opset(prepared("Pad", {"x", "size"},
                                 [](NodeProto& n) { set(n, "mode", std::string("wrap")); })),
            19);
  EXPECT_EQ(least_opset(prepared("BitwiseNot", {"x"})), 18);
}

// No newer opset has Upsample. In a model of the canonical opset a plan may leave it out.
TEST(RaiseOpset, LeavesGraphsWithAnOperatorThatEndedAlone) {
  OneNode one("BitwiseNot", kCanonicalOpset, {"x"});
  onnx::GraphProto& proto = *one.floats("scales", {4}, {1, 1, 2, 2}).model.mutable_graph();
  *proto.add_node() = node_proto("Upsample", {"z", "scales"}, {"large"});
  *proto.add_output() = tensor_info("large", {1});
  *proto.add_input() = tensor_info("z", {1, 1, 2, 2});
  Graph graph = load_onnx_bytes(one.model.SerializeAsString(), "", "model");
  upgrade_opset(graph);
  EXPECT_EQ(least_opset(graph), 18);
  const onnx::ModelProto model = saved(graph);
  EXPECT_EQ(model.opset_import(0).version(), kCanonicalOpset);
  Graph again = load_onnx_bytes(model.SerializeAsString(), "", "model");
  EXPECT_NO_THROW(upgrade_opset(again));
}

TEST(RaiseOpset, LeavesGraphsOfTheCanonicalOpsetAlone) {
  const Graph graph = prepared("Relu", {"x"});
  EXPECT_EQ(least_opset(graph), kCanonicalOpset);
  EXPECT_EQ(saved(graph).opset_import(0).version(), kCanonicalOpset);
}

}  // namespace
}  // namespace qtool
