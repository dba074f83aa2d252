#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "qtool/base/error.h"
#include "report/diff/array_diff_text.h"
#include "support/tensor_folder.h"

namespace qtool {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ArrayDiff, KnownFigures) {
  const ArrayDiff diff = diff_of(Tensor::of<float>({2, 2}, {3.0F, 4.0F, 0.0F, 0.0F}),
                                 Tensor::of<float>({2, 2}, {3.0F, 4.0F, -0.0F, 0.5F}));
  EXPECT_EQ(diff.equal, 3);
  EXPECT_EQ(diff.first_mismatch, 3);
  EXPECT_EQ(diff.worst, 3);
  EXPECT_EQ(diff.max_abs_error, 0.5);
  EXPECT_NEAR(diff.sqnr_db, 20.0, 1e-9);  // 25 divided by 0.25
  EXPECT_NEAR(diff.cosine, 25.0 / (5.0 * std::sqrt(25.25)), 1e-12);
  EXPECT_EQ(diff.mean_a, 1.75);
  EXPECT_EQ(diff.mean_b, 1.875);
}

TEST(ArrayDiff, WideIntegersThatAreOneFloatStillDiffer) {
  const ArrayDiff diff = diff_of(Tensor::of<std::int64_t>({2}, {1 << 24, 5}),
                                 Tensor::of<std::int64_t>({2}, {(1 << 24) + 1, 5}));
  EXPECT_EQ(diff.equal, 1);
  EXPECT_EQ(diff.first_mismatch, 0);
}

TEST(ArrayDiff, ANaNEqualsItselfAndIsTheWorstOtherwise) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Tensor::of<float>({3}, {nan, 1.0F, nan});
  EXPECT_EQ(diff_of(a, a).equal, 3);
  const ArrayDiff diff = diff_of(a, Tensor::of<float>({3}, {nan, 9.0F, 0.0F}));
  EXPECT_EQ(diff.equal, 1);
  EXPECT_EQ(diff.worst, 2);
  EXPECT_TRUE(std::isinf(diff.max_abs_error));
  EXPECT_FALSE((ArrayLimits{{}, 100.0}.accept(diff)));
}

TEST(ArrayDiff, OtherShapesAreRefusedUnlessOneIsARow) {
  EXPECT_THROW(diff_of(Tensor(DType::kFloat32, {2, 3}), Tensor(DType::kFloat32, {3, 2})), Error);
  EXPECT_THROW(diff_of(Tensor(DType::kFloat32, {2, 3}), Tensor(DType::kFloat32, {5})), Error);
  EXPECT_EQ(diff_of(Tensor(DType::kFloat32, {2, 3}), Tensor(DType::kFloat32, {6})).equal, 6);
}

TEST(DiffArrays, FoldersAreMatchedByTheNamesOfTheirFiles) {
  const TensorFolder folder;
  folder.add("a/x.npy", Tensor::of<float>({2}, {1.0F, 2.0F}));
  folder.add("b/x.npy", Tensor::of<float>({2}, {1.0F, 2.5F}));
  folder.add("a/old.npy", Tensor::of<float>({1}, {1.0F}));
  folder.add("b/new.npy", Tensor::of<float>({1}, {1.0F}));
  folder.add("a/y.npy", Tensor::of<float>({1, 2}, {1.0F, 2.0F}));
  folder.add("b/y.npy", Tensor::of<float>({2, 1}, {1.0F, 2.5F}));
  const ArraysDiff diff = diff_arrays(folder.path() / "a", folder.path() / "b");
  ASSERT_EQ(diff.both.size(), 1U);
  EXPECT_EQ(diff.both[0].max_abs_error, 0.5);
  EXPECT_THAT(diff.only_a, ElementsAre("old.npy"));
  EXPECT_THAT(diff.only_b, ElementsAre("new.npy"));
  ASSERT_EQ(diff.not_compared.size(), 1U);
  EXPECT_THAT(diff.not_compared[0], HasSubstr("y.npy: shape [1, 2] in A, [2, 1] in B"));
  EXPECT_FALSE(diff.within({}));
}

TEST(DiffArrays, DumpsAreMatchedByTheNamesOfTensorsInTheirOrder) {
  const TensorFolder folder;
  for (const char* side : {"a/", "b/"}) {
    const bool first = side[0] == 'a';
    folder.add(std::string(side) + (first ? "1.npy" : "other.npy"),
               Tensor::of<float>({1}, {first ? 2.0F : 3.0F}));
    folder.add(std::string(side) + "0.npy", Tensor::of<float>({1}, {1.0F}));
    folder.add(std::string(side) + "tensors.json",
               std::string(R"({"tensors": [{"name": "z", "fp32": {"file": "0.npy"}},)") +
                   R"({"name": "a", "int8": {"file": ")" + (first ? "1.npy" : "other.npy") +
                   R"("}}]})");
  }
  const ArraysDiff diff = diff_arrays(folder.path() / "a", folder.path() / "b");
  ASSERT_EQ(diff.both.size(), 2U);
  EXPECT_EQ(diff.both[0].name, "z");
  const ArrayLimits limits{{}, 0.5};
  ASSERT_NE(diff.first_beyond(limits), nullptr);
  EXPECT_EQ(diff.first_beyond(limits)->name, "a");
  EXPECT_EQ(diff.first_beyond(limits)->kind, "int8");
  const auto json = nlohmann::json::parse(json_of(diff, limits));
  EXPECT_EQ(json["first_beyond"], "a (int8)");
  EXPECT_EQ(json["arrays"][1]["largest_error_at"], std::vector<int>{0});
  EXPECT_THAT(text_of(diff, limits), HasSubstr("first beyond the limits: 'a (int8)'"));
}

// Among more rows than a short table has, those without a figure and those beyond a limit are
// shown, although their SQNR is not the lowest.
TEST(DiffArrays, AShortTextShowsTheRowsBeyondTheLimits) {
  ArraysDiff diff;
  for (int i = 0; i < 20; ++i) {
    ArrayDiff& row = diff.both.emplace_back();
    row.name = "row" + std::to_string(i) + ".";
    row.shape = {1};
    row.sqnr_db = 20.0 + i;
  }
  diff.both[18].sqnr_db = std::nan("");
  diff.both[19].max_abs_error = 2.0;
  const std::string text = text_of(diff, {{}, 1.0}, kAnyWidth, ListLength::kShort);
  for (const char* shown : {"row18.", "row19.", "row0.", "row7."}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("row8.")));
}

TEST(DiffArrays, AnIndexCannotLeaveItsFolder) {
  const TensorFolder folder;
  folder.add("secret.npy", Tensor::of<float>({1}, {1.0F}));
  for (const char* side : {"a/", "b/"}) {
    folder.add(std::string(side) + "tensors.json",
               std::string(R"({"tensors": [{"name": "z", "fp32": {"file": "../secret.npy"}}]})"));
  }
  EXPECT_THROW(diff_arrays(folder.path() / "a", folder.path() / "b"), Error);
}

TEST(DiffArrays, ArchivesAreMatchedByNameAndSingleFilesAlways) {
  const TensorFolder folder;
  const auto a = folder.add("one.npy", Tensor::of<float>({2, 1}, {1.0F, 2.0F}));
  const auto raw = folder.add("two.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  const ArraysDiff diff = diff_arrays(a, raw);
  ASSERT_EQ(diff.both.size(), 1U);
  EXPECT_EQ(diff.both[0].equal, 2);
  EXPECT_TRUE(diff.within({200.0, 0.0}));
}

}  // namespace
}  // namespace qtool
