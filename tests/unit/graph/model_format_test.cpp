// The list of model formats.
#include "qtool/graph/model_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

Graph one_product() {
  Net net;
  net.constant("w", random_floats({64, 64}, 1));
  net.output(net.op("MatMul", "product", {net.input("x", {2, 64}), "w"}));
  return std::move(net.graph);
}

TEST(ModelFormats, AreToldApart) {
  std::set<std::string_view> names;
  std::set<std::string_view> endings;
  for (const ModelFormat& format : model_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(endings.insert(format.ending).second) << format.name;
    EXPECT_TRUE(format.ending.starts_with('.')) << format.name;
    EXPECT_TRUE(is_model(to_text("dir/net", format.ending))) << format.name;
    if (format.save == nullptr) continue;
    const ModelFiles files = format.save(one_product(), "net.data", DataPlace::kSecondFile);
    for (const ModelFormat& other : model_formats()) {
      if (other.recognises == nullptr) continue;
      EXPECT_EQ(other.recognises(files.model.substr(0, kMarkBytes)), &other == &format)
          << other.name << " about a file of " << format.name;
    }
  }
  EXPECT_FALSE(is_model("net.onnx.data"));
  EXPECT_TRUE(is_model("NET.ONNX"));
  EXPECT_FALSE(is_model(""));
}

TEST(ModelFormats, ReadWhatTheyWrite) {
  const fs::path folder = fs::temp_directory_path() / to_text("qtool_model_formats.", ::getpid());
  fs::create_directories(folder);
  const Graph graph = one_product();
  for (const ModelFormat& format : model_formats()) {
    if (format.save == nullptr) continue;
    const fs::path path = folder / to_text("net", format.ending);
    const fs::path data = data_file_of(path);
    const ModelFiles files =
        format_to_save(path).save(graph, data.filename().string(), DataPlace::kSecondFile);
    write_file(path, files.model);
    write_file(data, files.data);
    std::vector<fs::path> data_files;
    EXPECT_EQ(fingerprint(load_model_file(path, data_files)), fingerprint(graph)) << format.name;
    ASSERT_EQ(data_files.size(), 1U) << format.name;
    EXPECT_TRUE(same_file(data_files[0], data)) << format.name;
    EXPECT_EQ(fingerprint(load_model_files(files, path.string())), fingerprint(graph))
        << format.name;
  }
  fs::remove_all(folder);
}

TEST(ModelFormats, TakeFilesWithoutAMarkForTheMostUsualOne) {
  EXPECT_EQ(format_to_save("net.bin").name, model_formats().front().name);
  const std::string bytes = save_onnx_bytes(one_product());
  EXPECT_EQ(fingerprint(load_model_files({bytes, {}, {}}, "net.bin")), fingerprint(one_product()));
}

TEST(ModelFormats, NameTheFileThatTheyCannotRead) {
  std::vector<fs::path> data_files;
  try {
    static_cast<void>(load_model_file("/nowhere/net.onnx", data_files));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_STREQ(error.what(), "file '/nowhere/net.onnx': does not exist");
  }
  try {
    static_cast<void>(load_model_files({"this is text", {}, {}}, "net.onnx"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    EXPECT_THAT(error.what(), testing::HasSubstr("model 'net.onnx': is not an ONNX file"));
  }
}

}  // namespace
}  // namespace qtool
