#include "report/diff/tensor_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "samples/npy.h"

namespace qtool {
namespace {
using testing::ElementsAre;

constexpr std::int64_t kAnyBytes = 1 << 20;

TEST(FileStems, NeverLeaveTheFolderOrHideAFile) {
  const std::vector<std::string> names{"../../etc/passwd", ".hidden", "", "a/b:0", "\xff\n"};
  EXPECT_THAT(file_stems(names), ElementsAre("_.._.._etc_passwd", "_.hidden", "_", "a_b_0", "__"));
}

TEST(FileStems, ToldApartAlsoWhereUpperAndLowerCaseAreOne) {
  const std::vector<std::string> names{"a/b", "a:b", "A_b", "a_b-2", "a_b-2"};
  EXPECT_THAT(file_stems(names), ElementsAre("a_b", "a_b-2", "A_b-3", "a_b-2-2", "a_b-2-3"));
}

TEST(FileStems, StayShortAndDifferent) {
  const std::vector<std::string> names(12, std::string(5000, 'x'));
  const std::vector<std::string> stems = file_stems(names);
  for (std::size_t i = 0; i < stems.size(); ++i) {
    EXPECT_EQ(stems[i].size(), 100U);
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(stems[i], stems[k]);
  }
}

TEST(NpyBytes, AreThoseOfThePublishedFormat) {
  const std::string bytes = npy_bytes(Tensor::of<std::int16_t>({2, 1}, {1, -2}));
  // Magic, version 1.0, 118 bytes of header: elements begin at 128.
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }";
  header.resize(117, ' ');
  EXPECT_EQ(bytes, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                       std::string("\x01\x00\xfe\xff", 4));
}

TEST(NpyBytes, WriteShapesAsPythonTuples) {
  const auto has = [](const Tensor& tensor, std::string_view text) {
    const std::string bytes = npy_bytes(tensor);
    EXPECT_EQ((bytes.size() - static_cast<std::size_t>(tensor.bytes())) % 64, 0U);
    return bytes.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has(Tensor::scalar<float>(1), "'<f4', 'fortran_order': False, 'shape': (), }"));
  EXPECT_TRUE(has(Tensor(DType::kUInt8, {3}), "'|u1', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_TRUE(
      has(Tensor(DType::kBool, {0, 2}), "'|b1', 'fortran_order': False, 'shape': (0, 2), }"));
}

TEST(NpyBytes, HoldEveryBfloat16AsFloat32) {
  const Tensor tensor = Tensor::of<BFloat16>({1}, {BFloat16{0x3fc0}});
  EXPECT_EQ(npy_bytes(tensor), npy_bytes(Tensor::of<float>({1}, {1.5F})));
}

TEST(WriteDump, SaysWhatEachFileHolds) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "qtool_write_dump";
  std::filesystem::remove_all(folder);
  std::vector<TensorPair> pairs(2);
  pairs[0].name = "in/put";
  pairs[0].fp32 = Tensor::of<float>({2}, {1.0F, -1.0F});
  pairs[0].int8_name = "in/put_q";
  pairs[0].int8 = Tensor::of<float>({2}, {1.0F, -0.5F});
  pairs[0].integers = Tensor::of<std::uint8_t>({2}, {130, 127});
  pairs[0].affines = {{0.5F}, {128}, -1};
  pairs[0].sqnr_db = 9.0;
  pairs[0].max_abs_error = 0.5;
  pairs[1].name = "gone";
  pairs[1].op_type = "Relu";
  pairs[1].fp32 = Tensor::of<float>({1}, {2.0F});
  write_dump(folder, pairs, {"a.onnx", "b.onnx", "x.jpg"});
  const auto index = nlohmann::json::parse(read_file(folder / kDumpIndex, kAnyBytes));
  const auto& first = index["tensors"][0];
  EXPECT_EQ(first["name"], "in/put");
  EXPECT_EQ(first["operator"], "input");
  EXPECT_EQ(first["shape"], std::vector<int>{2});
  EXPECT_EQ(first["integers"]["dtype"], "uint8");
  EXPECT_EQ(first["integers"]["scales"], std::vector<double>{0.5});
  EXPECT_EQ(first["integers"]["zero_points"], std::vector<int>{128});
  EXPECT_EQ(first["sqnr_db"], 9.0);
  EXPECT_FALSE(index["tensors"][1].contains("int8"));
  EXPECT_TRUE(index["tensors"][1].contains("note"));
  EXPECT_EQ(read_file(folder / std::string(first["integers"]["file"]), kAnyBytes),
            npy_bytes(*pairs[0].integers));
  EXPECT_EQ(read_file(folder / std::string(first["fp32"]["file"]), kAnyBytes),
            npy_bytes(pairs[0].fp32));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace qtool
