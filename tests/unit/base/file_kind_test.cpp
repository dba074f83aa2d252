#include "base/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/preprocess.h"
#include "support/places.h"

namespace qtool {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
constexpr std::string_view kPage = "\n <!DOCTYPE HTML><title>404</title>";

template <typename Read>
std::string refusal_to_read(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string refused_model(std::string_view bytes) {
  return refusal_to_read([&] { static_cast<void>(load_onnx_bytes(bytes, ".", "m.onnx")); });
}

std::string refused_table(std::string_view bytes) {
  return refusal_to_read([&] { static_cast<void>(recognise(bytes, "t.json")); });
}

TEST(RecogniseForeignFile, CallsFilesByTheirNames) {
  const auto found = [](std::string_view bytes) {
    return std::string(recognise_foreign_file(bytes));
  };
  EXPECT_THAT(found(kPointer), HasSubstr("Git LFS pointer"));
  EXPECT_THAT(found(kPage), HasSubstr("web page"));
  EXPECT_THAT(found("\xEF\xBB\xBF<html>"), HasSubstr("web page"));
  EXPECT_THAT(found("<?xml version='1.0'?><Error/>"), HasSubstr("XML"));
  EXPECT_THAT(found(std::string_view("RIFF\0\0\0\0WEBPVP8 ", 16)), HasSubstr("WebP"));
  EXPECT_THAT(found(std::string_view("\0\0\0\x18"
                                     "ftypheic",
                                     12)),
              HasSubstr("HEIC"));
  EXPECT_THAT(found(std::string_view("\0\0\0\x18"
                                     "ftypavif",
                                     12)),
              HasSubstr("AVIF"));
  EXPECT_THAT(found(std::string_view("II*\0\1", 5)), HasSubstr("TIFF"));
  EXPECT_THAT(found("GIF89a"), HasSubstr("GIF"));
  EXPECT_THAT(found("\xFF\xFEh"), HasSubstr("UTF-16"));
}

TEST(RecogniseForeignFile, SaysNothingOfWhatItDoesNotKnow) {
  // In the last of these, the producer's name is at the position of the mark of a TensorFlow Lite
  // model.
  for (const std::string_view bytes :
       {"", "R", "RIFF and more text", "hello", "{}", "\x08\x07\x12\x05TFL3x"}) {
    EXPECT_EQ(recognise_foreign_file(bytes), "") << bytes;
  }
  const std::string model =
      read_file(std::filesystem::path(kSourceFolder) / "data/signs_resnet.onnx", 1 << 24);
  EXPECT_EQ(recognise_foreign_file(model), "");
}

TEST(RecogniseForeignFile, ReadersOfModelsAndTablesUseIt) {
  EXPECT_THAT(refused_model(kPointer), HasSubstr("model 'm.onnx' is a Git LFS pointer"));
  EXPECT_THAT(refused_model(kPage), HasSubstr("model 'm.onnx' is a web page"));
  EXPECT_THAT(refused_model(""), HasSubstr("model 'm.onnx' is empty"));
  EXPECT_THAT(refused_table(kPointer), HasSubstr("table 't.json' is a Git LFS pointer"));
  EXPECT_THAT(refusal_to_read([] { static_cast<void>(preprocess_from_json(kPointer)); }),
              HasSubstr("is a Git LFS pointer"));
}

TEST(LoadOnnx, TellsACutOffModelFromGarbage) {
  const std::string model =
      read_file(std::filesystem::path(kSourceFolder) / "data/signs_resnet.onnx", 1 << 24);
  for (const std::size_t size : {model.size() - 1, model.size() / 2, std::size_t{100}}) {
    EXPECT_THAT(refused_model(model.substr(0, size)), HasSubstr("the file is cut off")) << size;
  }
  EXPECT_THAT(refused_model("this is no model"), HasSubstr("is not an ONNX file"));
}

TEST(WithoutByteOrderMark, IsDroppedWhereTextIsRead) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB"), "\xEF\xBB");
  EXPECT_EQ(preprocess_from_json("\xEF\xBB\xBF{}"), Preprocess());
}

}  // namespace
}  // namespace qtool
