// Files that numpy and protoc wrote (tests/golden/tensors/PROVENANCE.md) are read with the values
// that they stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"
#include "support/places.h"

namespace qtool {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path golden_tensors(const std::string& file) {
  return std::filesystem::path(kSourceFolder) / "tests/golden/tensors" / file;
}

// An input that takes tensors of any shape of one type.
InputSpec any_input(DType dtype) { return {"x", dtype, std::nullopt}; }

Tensor only_tensor(const std::string& file, DType dtype) {
  const TensorSet set = list_tensors(golden_tensors(file), {any_input(dtype)});
  EXPECT_EQ(set.entries.size(), 1U);
  std::vector<Tensor> tensors = load_tensors(set, set.entries.at(0));
  return std::move(tensors.at(0));
}

std::string refusal(const std::string& file, ErrorCode code) {
  try {
    static_cast<void>(only_tensor(file, DType::kFloat32));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "accepted";
}

class CountingFile : public testing::TestWithParam<const char*> {};

TEST_P(CountingFile, HoldsTheNumbersInOrder) {
  const Tensor tensor = only_tensor(GetParam(), DType::kFloat32);
  ASSERT_EQ(tensor.shape(), (Shape{2, 3, 4}));
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(tensor.values<float>()[i], 0.25F * static_cast<float>(i) - 1.0F) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Numpy, CountingFile,
                         testing::Values("float32.npy", "fortran_order.npy", "float64.npy",
                                         "float16.npy", "version_2.npy", "version_3.npy",
                                         "unnamed.npz", "tensor.pb"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(TensorFiles, HoldOtherTypes) {
  EXPECT_THAT(to_int64s(only_tensor("int64.npy", DType::kInt64)), ElementsAre(5, -7, 300));
  EXPECT_THAT(to_int64s(only_tensor("int64.npy", DType::kInt32)), ElementsAre(5, -7, 300));
  EXPECT_THAT(to_int64s(only_tensor("uint8.npy", DType::kUInt8)), ElementsAre(5, 7, 255));
  const Tensor truths = only_tensor("bool.npy", DType::kBool);
  EXPECT_THAT(truths.values<bool>(), ElementsAre(true, false, true));
  const Tensor scalar = only_tensor("scalar.npy", DType::kFloat32);
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_THAT(scalar.values<float>(), ElementsAre(2.5F));
}

TEST(TensorFiles, AreNotConvertedWhereValuesWouldChange) {
  EXPECT_THAT(refusal("int64.npy", ErrorCode::kMismatch),
              HasSubstr("holds int64, input 'x' takes float32"));
  try {
    static_cast<void>(only_tensor("int64.npy", DType::kUInt8));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("values that do not fit uint8"));
  }
}

TEST(TensorFiles, OfArchivesAreFoundByName) {
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const TensorSet set =
        list_tensors(golden_tensors(file),
                     {{"ids", DType::kInt64, std::nullopt}, {"x", DType::kFloat32, std::nullopt}});
    ASSERT_EQ(set.entries.size(), 1U);
    const std::vector<Tensor> tensors = load_tensors(set, set.entries[0]);
    EXPECT_THAT(to_int64s(tensors.at(0)), ElementsAre(1, 2)) << file;
    EXPECT_EQ(tensors.at(1).shape(), (Shape{2, 3, 4})) << file;
    EXPECT_EQ(tensors.at(1).values<float>()[23], 4.75F) << file;
  }
}

TEST(TensorFiles, OfArchivesAreReadByPieces) {
  // x has two samples. ids has one sample, which is used for both.
  const InputSpec x{"x", DType::kFloat32, {{3, 4}}};
  const InputSpec ids{"ids", DType::kInt64, {{1, 2}}};
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const TensorSet set = list_tensors(golden_tensors(file), {x, ids});
    ASSERT_EQ(set.entries.size(), 2U) << file;
    const std::vector<Tensor> second = load_tensors(set, set.entries[1]);
    const std::vector<Tensor> first = load_tensors(set, set.entries[0]);
    EXPECT_EQ(second.at(0).values<float>()[0], 2.0F) << file;
    EXPECT_EQ(first.at(0).values<float>()[0], -1.0F) << file;
    EXPECT_TRUE(identical(first.at(1), second.at(1))) << file;
  }
}

TEST(TensorFiles, AreRefusedWithTheReason) {
  EXPECT_THAT(refusal("empty.npy", ErrorCode::kInvalidArgument), HasSubstr("at least one element"));
  EXPECT_THAT(refusal("big_endian.npy", ErrorCode::kUnsupported), HasSubstr("big-endian"));
  EXPECT_THAT(refusal("records.npy", ErrorCode::kUnsupported), HasSubstr("records"));
  EXPECT_THAT(refusal("complex.npy", ErrorCode::kUnsupported), HasSubstr("'<c8'"));
  EXPECT_THAT(refusal("external.pb", ErrorCode::kUnsupported), HasSubstr("another file"));
}

}  // namespace
}  // namespace qtool
