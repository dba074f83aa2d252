// Models whose weights lie in a second file.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/onnx/external_data.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/random_floats.h"
#include "unit/onnx_models.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Products with a matrix of 16 KiB and one of 4 KiB, and a bias that is too small to be moved to
/// the second file.
Graph products() {
  Net net;
  net.constant("w", random_floats({64, 64}, 1, -1.0F, 1.0F));
  net.constant("v", random_floats({64, 16}, 2, -1.0F, 1.0F));
  net.constant("b", random_floats({16}, 3, -1.0F, 1.0F));
  const auto y = net.op("MatMul", "first", {net.input("x", {2, 64}), "w"});
  net.output(net.op("Add", "sum", {net.op("MatMul", "second", {y, "v"}), "b"}));
  return std::move(net.graph);
}

TEST(OnnxFiles, AreReadAsWhatWasWritten) {
  const Graph graph = products();
  const ModelFiles files = save_onnx_files(graph, "net.data", DataPlace::kSecondFile);
  EXPECT_LT(files.model.size(), 2000U);
  EXPECT_EQ(files.data.size(), 16384U + 4096U);
  const Graph again = load_onnx_files(files, "net");
  EXPECT_EQ(save_onnx_bytes(again), save_onnx_bytes(graph));
  EXPECT_EQ(fingerprint(again), fingerprint(graph));
  const ModelFiles second = save_onnx_files(again, "net.data", DataPlace::kSecondFile);
  EXPECT_EQ(second.model, files.model);
  EXPECT_EQ(second.data, files.data);
}

TEST(OnnxFiles, AreOneWhereThatIsEnough) {
  const ModelFiles files = save_onnx_files(products(), "net.data");
  EXPECT_EQ(files.model, save_onnx_bytes(products()));
  EXPECT_EQ(files.data, "");
}

TEST(OnnxFiles, AreToldApartFromOthers) {
  ModelFiles files = save_onnx_files(products(), "net.data", DataPlace::kSecondFile);
  const auto refusal = [&] {
    try {
      static_cast<void>(load_onnx_files(files, "net"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  files.data_name = "other.data";
  EXPECT_THAT(refusal(), HasSubstr("found file 'net.data', expected 'other.data'"));
  files.data_name = "net.data";
  files.data.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("has 20479 bytes, expected 4096 at offset 16384"));
}

// The offsets of a file of 6 GB, which is laid out without its bytes.
TEST(OnnxFiles, HaveOffsetsBeyondTwoGigabytes) {
  DataLayout layout;
  constexpr std::int64_t kBytes = 2'000'000'001;
  EXPECT_EQ(layout.place(kBytes), 0);
  EXPECT_EQ(layout.place(kBytes), 2'000'003'072);
  EXPECT_EQ(layout.place(kBytes), 4'000'006'144);
  EXPECT_EQ(layout.size(), 6'000'006'145);
}

// A sparse file: most of its 5 GB take no place on the disk.
TEST(OnnxFiles, AreReadBeyondFourGigabytes) {
  const fs::path folder = fs::path(::testing::TempDir()) / "qtool_onnx_files";
  fs::create_directories(folder);
  const fs::path data = folder / "sparse.data";
  constexpr std::int64_t kOffset = 5'000'003'584;
  const std::vector<float> values{1.5F, -2.0F, 3.25F, 8.0F};
  const int file = ::open(data.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  const auto bytes = static_cast<ssize_t>(values.size() * sizeof(float));
  const bool written =
      ::pwrite(file, values.data(), static_cast<std::size_t>(bytes), kOffset) == bytes;
  ::close(file);
  if (!written) GTEST_SKIP() << "no sparse file of 5 GB can be made in " << folder;
  onnx::ModelProto model = small_model();
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_raw_data();
  w.clear_float_data();
  w.clear_dims();
  for (const int dim : {2, 2}) w.add_dims(dim);
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair("location", "sparse.data"), {"offset", "5000003584"}, {"length", "16"}}) {
    onnx::StringStringEntryProto& entry = *w.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  const Graph graph = load_onnx_bytes(model.SerializeAsString(), folder, "sparse");
  fs::remove_all(folder);
  const auto read = graph.value(graph.find_value(w.name()).value()).constant->values<float>();
  EXPECT_TRUE(std::ranges::equal(read, values));
}

TEST(OnnxFiles, LieBesideEachOther) {
  EXPECT_EQ(data_file_of("out/net.onnx"), fs::path("out/net.onnx.data"));
}

}  // namespace
}  // namespace qtool
