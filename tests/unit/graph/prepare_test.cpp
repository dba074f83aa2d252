#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/absent.h"
#include "support/places.h"
#include "unit/onnx_check.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::Pair;

std::set<std::string> living_names(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueId id : graph.living_values()) names.insert(graph.value(id).name);
  return names;
}

TEST(Prepare, FoldsConvolutionNormalizationAndConstantsIntoOneNode) {
  onnx::ModelProto model = small_model(9);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_node();
  *graph.mutable_initializer(0) = float_proto("w", {1, 1, 1, 1}, {3});
  *graph.mutable_input(0) = tensor_info("x", {1, 1, 2, 2});
  *graph.add_initializer() = float_proto("p", {1}, {1});
  onnx::NodeProto& constant = *graph.add_node();
  constant = node_proto("Constant", {}, {"var"});
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = float_proto("", {1}, {4});
  *graph.add_node() = node_proto("Identity", {"x"}, {"x1"});
  *graph.add_node() = node_proto("Conv", {"x1", "w"}, {"c"});
  *graph.add_node() = node_proto("BatchNormalization", {"c", "p", "p", "p", "var"}, {"n"});
  *graph.add_node() = node_proto("Dropout", {"n"}, {"y"});
  *graph.add_node() = node_proto("Relu", {"c"}, {"nobody_reads_this"});
  const Graph prepared = prepare(load_onnx_bytes(model.SerializeAsString(), "", "model"));
  ASSERT_EQ(prepared.nodes().size(), 1U);
  const Node& conv = prepared.node(prepared.nodes()[0]);
  EXPECT_EQ(conv.name, "Conv_c");
  EXPECT_EQ(prepared.value(conv.outputs[0]).name, "y");
  EXPECT_NEAR(prepared.value(conv.inputs[1]).constant->values<float>()[0], 1.5F, 1e-5F);
  EXPECT_NEAR(prepared.value(conv.inputs[2]).constant->values<float>()[0], 0.5F, 1e-5F);
  EXPECT_THAT(prepared.info.aliases, ElementsAre(Pair("c", "y"), Pair("n", "y"), Pair("x1", "x")));
}

TEST(Prepare, IsIdempotentAndKeepsNamesOnRealModels) {
  std::vector<fs::path> models;
  for (const char* folder : {"models", "golden/onnxruntime/models"}) {
    const fs::path path = fs::path(kSharedData) / folder;
    if (!fs::exists(path)) continue;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".onnx") models.push_back(entry.path());
    }
  }
  if (models.empty()) GTEST_SKIP() << absent(kSharedData);
  std::sort(models.begin(), models.end());
  for (const fs::path& path : models) {
    SCOPED_TRACE(path.string());
    const Graph loaded = load_onnx(path);
    const Graph graph = prepare(loaded);
    const std::string bytes = save_onnx_bytes(graph);
    EXPECT_TRUE(save_onnx_bytes(prepare(graph)) == bytes);
    EXPECT_TRUE(save_onnx_bytes(load_onnx_bytes(bytes, "", "again")) == bytes);
    EXPECT_EQ(fingerprint(load_onnx_bytes(bytes, "", "again")), fingerprint(graph));
    if (loaded.info.opsets.size() == 1) {
      EXPECT_EQ(complaint_of_checker(bytes), "");
    }
    const std::set<std::string> before = living_names(loaded);
    const std::set<std::string> after = living_names(graph);
    for (const auto& [gone, surviving] : graph.info.aliases) {
      EXPECT_FALSE(after.contains(gone)) << gone;
      EXPECT_TRUE(after.contains(surviving)) << surviving;
    }
    for (const std::size_t i : {std::size_t{0}, loaded.outputs().size() - 1}) {
      EXPECT_EQ(graph.value(graph.outputs()[i]).name, loaded.value(loaded.outputs()[i]).name);
    }
    for (const NodeId id : graph.nodes()) {
      EXPECT_FALSE(graph.node(id).is("BatchNormalization"));
      EXPECT_FALSE(graph.node(id).is("Constant"));
    }
  }
}

}  // namespace
}  // namespace qtool
