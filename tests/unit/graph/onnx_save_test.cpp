#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "support/absent.h"
#include "support/places.h"
#include "unit/onnx_check.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<fs::path> models_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(SaveOnnx, WritesWhatItsReaderAndOnnxAccept) {
  onnx::ModelProto model = small_model();
  auto* entry = model.add_metadata_props();
  entry->set_key("task");
  entry->set_value("none");
  const Graph graph = load_onnx_bytes(model.SerializeAsString(), "", "model");
  const std::string bytes = save_onnx_bytes(graph);
  EXPECT_EQ(complaint_of_checker(bytes), "");
  const Graph again = load_onnx_bytes(bytes, "", "model");
  EXPECT_EQ(again.info.metadata.at("task"), "none");
  EXPECT_EQ(again.info.producer_name, "test");
  EXPECT_EQ(again.info.opsets, graph.info.opsets);
  EXPECT_EQ(again.info.ir_version, 8);
  EXPECT_EQ(save_onnx_bytes(again), bytes);
}

TEST(SaveOnnx, KeepsAbsentInputsAndOutputsInTheirPlaces) {
  onnx::ModelProto model = small_model();
  auto* graph = model.mutable_graph();
  *graph->add_node() = node_proto("Clip", {"x", "", "w"}, {"clipped"});
  *graph->add_node() = node_proto("LSTM", {"x", "w", "w"}, {"", "state"});
  *graph->add_output() = tensor_info("clipped", {2, 2});
  *graph->add_output() = tensor_info("state", {2, 2});
  const std::string bytes =
      save_onnx_bytes(load_onnx_bytes(model.SerializeAsString(), "", "model"));
  onnx::ModelProto saved;
  ASSERT_TRUE(saved.ParseFromString(bytes));
  EXPECT_EQ(saved.graph().node(2).input(1), "");
  EXPECT_EQ(saved.graph().node(2).input(2), "w");
  EXPECT_EQ(saved.graph().node(3).output(0), "");
  EXPECT_EQ(saved.graph().node(3).output(1), "state");
}

TEST(SaveOnnx, LeavesOutConstantsThatNothingReads) {
  onnx::ModelProto model = small_model();
  *model.mutable_graph()->add_initializer() = float_proto("unused", {1}, {1});
  const Graph graph = load_onnx_bytes(model.SerializeAsString(), "", "model");
  onnx::ModelProto saved;
  ASSERT_TRUE(saved.ParseFromString(save_onnx_bytes(graph)));
  EXPECT_EQ(saved.graph().initializer_size(), 1);
}

TEST(SaveOnnx, RefusesMoreThanTwoGigabytesBeforeCopyingThem) {
  Graph graph;
  graph.info.opsets[""] = 17;
  // One tensor of 64 MiB after 33 constants.
  const auto big = std::make_shared<const Tensor>(DType::kUInt8, Shape{1 << 26});
  Node node{"cat", "Concat", "", {}, {}, {{"axis", std::int64_t{0}}}};
  for (int i = 0; i < 33; ++i) node.inputs.push_back(graph.add_constant(to_text("w", i), big));
  node.outputs.push_back(graph.add_value("y"));
  const ValueId y = node.outputs[0];
  graph.add_node(std::move(node));
  graph.add_output(y);
  try {
    save_onnx_bytes(graph);
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("an ONNX file holds at most 2147483647"));
  }
}

TEST(SaveOnnx, KeepsRealModelsUnchanged) {
  const fs::path shared = kSharedData;
  std::vector<fs::path> models = models_in(shared / "models");
  const std::vector<fs::path> golden = models_in(shared / "golden");
  models.insert(models.end(), golden.begin(), golden.end());
  if (models.empty()) GTEST_SKIP() << absent(shared);
  for (const fs::path& path : models) {
    SCOPED_TRACE(path.string());
    const Graph graph = load_onnx(path);
    const std::string bytes = save_onnx_bytes(graph);
    if (graph.info.opsets.size() == 1 && graph.info.opsets.at("") <= 17) {
      EXPECT_EQ(complaint_of_checker(bytes), "");
    }
    const Graph again = load_onnx_bytes(bytes, "", "again");
    EXPECT_EQ(again.nodes().size(), graph.nodes().size());
    EXPECT_EQ(again.inputs().size(), graph.inputs().size());
    EXPECT_TRUE(save_onnx_bytes(again) == bytes);
  }
}

}  // namespace
}  // namespace qtool
