// Files that are broken by accident or on purpose: each loads or is refused with an Error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/absent.h"
#include "support/places.h"
#include "support/test_seed.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;
using ::testing::HasSubstr;

void set_ints(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

// A model of opset 9 in which every pass has something to do.
std::string rich_model() {
  onnx::ModelProto model = small_model(9);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_node();
  *graph.mutable_input(0) = tensor_info("x", {1, 2, 4, 4});
  *graph.mutable_output(0) = tensor_info("y", {1, 3, 2, 2});
  *graph.mutable_initializer(0) = float_proto("w", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
  for (const char* name : {"gamma", "beta", "mean", "var"}) {
    *graph.add_initializer() = float_proto(name, {3}, {1, 2, 3});
    *graph.add_input() = tensor_info(name, {3});
  }
  *graph.add_node() = node_proto("Conv", {"x", "w"}, {"c"});
  *graph.add_node() =
      node_proto("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, {"n"});
  *graph.add_node() = node_proto("Dropout", {"n"}, {"d"});
  *graph.add_node() = node_proto("Softmax", {"d"}, {"s"});
  onnx::NodeProto& pad = *graph.add_node() = node_proto("Pad", {"s"}, {"p"});
  set_ints(pad, "pads", {0, 0, 0, 0, 0, 0, 1, 1});
  onnx::NodeProto& constant = *graph.add_node();
  constant = node_proto("Constant", {}, {"scales"});
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = float_proto("", {4}, {1, 1, 2, 2});
  *graph.add_node() = node_proto("Upsample", {"p", "scales"}, {"u"});
  onnx::NodeProto& slice = *graph.add_node() = node_proto("Slice", {"u"}, {"l"});
  set_ints(slice, "starts", {1});
  set_ints(slice, "ends", {3});
  set_ints(slice, "axes", {2});
  *graph.add_node() = node_proto("Relu", {"l"}, {"y"});
  return model.SerializeAsString();
}

// Whether the bytes are a model. Any outcome but success and an Error ends the test program.
bool survives(const std::string& bytes) {
  try {
    const Graph graph = load_onnx_bytes(bytes, "", "hostile");
    graph.check();
    const Graph prepared = prepare(graph);
    load_onnx_bytes(save_onnx_bytes(prepared), "", "again").check();
    return true;
  } catch (const Error&) {
    return false;
  }
}

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    std::string pattern = (fs::temp_directory_path() / "qtool_onnx_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directory(root_ / "model");
    write_file(root_ / "model" / "weights.bin", std::string(64, '\1'));
    write_file(root_ / "secret.bin", std::string(64, '\2'));
  }
  ~ExternalData() override { fs::remove_all(root_); }

  // Loads the small model with its weight, 16 bytes, in another file.
  [[nodiscard]] Graph load(const std::string& location, const std::string& offset = "",
                           const std::string& length = "") const {
    onnx::ModelProto model = small_model();
    TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_data_location(TensorProto::EXTERNAL);
    const auto add = [&](const std::string& key, const std::string& value) {
      if (value.empty()) return;
      onnx::StringStringEntryProto& entry = *w.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    write_file(root_ / "model" / "model.onnx", model.SerializeAsString());
    return load_onnx(root_ / "model" / "model.onnx");
  }
  [[nodiscard]] std::string refusal(const std::string& location, const std::string& offset = "",
                                    const std::string& length = "") const {
    try {
      static_cast<void>(load(location, offset, length));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("initializer 'w'"));
      return error.what();
    }
    return "accepted";
  }

  fs::path root_;
};

TEST_F(ExternalData, IsNamedSoThatNobodyOverwritesIt) {
  static_cast<void>(load("./weights.bin"));
  std::vector<fs::path> files;
  static_cast<void>(load_onnx(root_ / "model" / "model.onnx", files));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(fs::equivalent(files.front(), root_ / "model" / "weights.bin"));
}

TEST_F(ExternalData, IsReadFromTheFolderOfTheModel) {
  write_file(root_ / "model" / "part.bin",
             std::string(4, '\0') + std::string("\0\0\x80\x3f", 4) + std::string(24, '\0'));
  const Graph graph = load("part.bin", "4", "16");
  const Tensor& w = *graph.value(*graph.find_value("w")).constant;
  EXPECT_THAT(w.values<float>(), ::testing::ElementsAre(1, 0, 0, 0));
  const Graph spelled = load("./weights.bin");
  EXPECT_EQ(spelled.nodes().size(), 2U);
  const Graph from_48 = load("weights.bin", "48");
  EXPECT_EQ(from_48.nodes().size(), 2U);
}

TEST_F(ExternalData, MustLieInsideThatFolder) {
  EXPECT_THAT(refusal("../secret.bin"), HasSubstr("leaves the folder"));
  EXPECT_THAT(refusal("sub/../../secret.bin"), HasSubstr("leaves the folder"));
  EXPECT_THAT(refusal((root_ / "secret.bin").string()), HasSubstr("leaves the folder"));
  fs::create_symlink(root_ / "secret.bin", root_ / "model" / "link.bin");
  EXPECT_THAT(refusal("link.bin"), HasSubstr("leaves the folder"));
  fs::create_directory_symlink(root_, root_ / "model" / "up");
  EXPECT_THAT(refusal("up/secret.bin"), HasSubstr("leaves the folder"));
}

TEST_F(ExternalData, MustFillTheTensorExactly) {
  EXPECT_THAT(refusal("weights.bin", "49"), HasSubstr("has 64 bytes, expected 16 at offset 49"));
  EXPECT_THAT(refusal("weights.bin", "0", "15"), HasSubstr("found 15 bytes"));
  EXPECT_THAT(refusal("weights.bin", "-1"), HasSubstr("at offset -1"));
  EXPECT_THAT(refusal("weights.bin", "9223372036854775807"), HasSubstr("expected 16 at offset"));
  EXPECT_THAT(refusal("weights.bin", "many"), HasSubstr("offset"));
  EXPECT_THAT(refusal("missing.bin"), HasSubstr("does not exist or is not a file"));
  EXPECT_THAT(refusal(""), HasSubstr("name no file"));
  fs::create_directory(root_ / "model" / "folder");
  EXPECT_THAT(refusal("folder"), HasSubstr("does not exist or is not a file"));
}

TEST(HostileOnnx, TheModelThatIsBrokenBelowIsItselfWhole) { EXPECT_TRUE(survives(rich_model())); }

TEST(HostileOnnx, IsRefusedWhereverItIsCutOff) {
  const std::string whole = rich_model();
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (!survives(whole.substr(0, size))) ++refused;
  }
  // Cuts between the last fields of the file lose nothing that a model needs.
  EXPECT_GT(refused, whole.size() * 9 / 10);
}

TEST(HostileOnnx, IsRefusedWithFlippedBits) {
  const std::string whole = rich_model();
  const unsigned seed = tests::test_seed();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    const unsigned flips = 1 + random() % 4;
    for (unsigned flip = 0; flip < flips; ++flip) {
      const std::size_t place = random() % bytes.size();
      bytes[place] = static_cast<char>(bytes[place] ^ static_cast<char>(1U << random() % 8));
    }
    if (!survives(bytes)) ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST(HostileOnnx, IsRefusedWhenRealModelsAreCutOff) {
  const fs::path path = fs::path(kSharedData) / "models" / "cifar10_resnet20.onnx";
  if (!fs::exists(path)) GTEST_SKIP() << absent(path);
  const std::string whole = read_file(path, std::int64_t{1} << 30);
  const std::size_t step = whole.size() / 97;
  for (std::size_t size = 0; size < whole.size(); size += step) {
    EXPECT_FALSE(survives(whole.substr(0, size))) << size;
  }
}

TEST(HostileOnnx, MayNotNestWithoutEnd) {
  // A sequence of sequences of ... as the type of an input: protobuf's recursion limit must end it.
  std::string type;
  for (int depth = 0; depth < 20000; ++depth) {
    std::string length;
    for (std::size_t n = type.size();; n >>= 7) {
      length.push_back(static_cast<char>((n & 127) | (n > 127 ? 128 : 0)));
      if (n <= 127) break;
    }
    type = (depth % 2 == 0 ? "\x22" : "\x0a") + length + type;
    if (type.size() > 100000) break;
  }
  onnx::ModelProto model = small_model();
  std::string bytes = model.SerializeAsString();
  const auto field = [](char tag, const std::string& content) {
    std::string out(1, tag);
    for (std::size_t n = content.size();; n >>= 7) {
      out.push_back(static_cast<char>((n & 127) | (n > 127 ? 128 : 0)));
      if (n <= 127) break;
    }
    return out + content;
  };
  // ModelProto.graph = 7, GraphProto.input = 11, ValueInfoProto.type = 2.
  bytes += field('\x3a', field('\x5a', field('\x12', type)));
  EXPECT_FALSE(survives(bytes));
}

TEST(HostileOnnx, MayHaveManyReadersOfOneConstant) {
  onnx::ModelProto model = small_model();
  for (int i = 0; i < 20000; ++i) {
    *model.mutable_graph()->add_node() = node_proto("Add", {"x", "w"}, {to_text("v", i)});
  }
  EXPECT_TRUE(survives(model.SerializeAsString()));
}

// The test data of the ONNX project, which includes strings, sequences, subgraphs and training
// operators.
TEST(HostileOnnx, IncludesNoModelOfOnnxThatEndsTheProgram) {
  const fs::path data = kOnnxTestData;
  if (!fs::exists(data)) GTEST_SKIP() << absent(data);
  int loaded = 0;
  int refused = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().string());
    try {
      const Graph graph = load_onnx(entry.path());
      const std::string bytes = save_onnx_bytes(graph);
      EXPECT_TRUE(save_onnx_bytes(load_onnx_bytes(bytes, "", "again")) == bytes);
      ++loaded;
      prepare(graph);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(loaded, 800);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace qtool
