#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"
#include "support/tensor_folder.h"

namespace qtool {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::nullopt_t kOpen = std::nullopt;

InputSpec floats(const std::string& name, std::vector<std::optional<std::int64_t>> extents) {
  return {name, DType::kFloat32, std::move(extents)};
}

class TensorSetTest : public testing::Test {
 protected:
  [[nodiscard]] TensorSet list(const std::vector<InputSpec>& inputs, std::int64_t limit = 0) const {
    return list_tensors(folder_.path(), inputs, limit);
  }
  /// The first element of input `input` of each sample.
  [[nodiscard]] static std::vector<float> firsts(const TensorSet& set, std::size_t input = 0) {
    std::vector<float> values;
    for (const TensorSet::Entry& entry : set.entries) {
      values.push_back(load_tensors(set, entry).at(input).values<float>()[0]);
    }
    return values;
  }
  [[nodiscard]] std::string refusal(const std::vector<InputSpec>& inputs, ErrorCode code) const {
    return refusal(folder_.path(), inputs, code);
  }
  [[nodiscard]] static std::string refusal(const std::filesystem::path& source,
                                           const std::vector<InputSpec>& inputs, ErrorCode code) {
    try {
      static_cast<void>(list_tensors(source, inputs));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "accepted";
  }

  TensorFolder folder_;
};

TEST_F(TensorSetTest, TakesFilesOfOneSampleInTheOrderOfTheirNames) {
  folder_.count("b.npy", {1, 3}, 10);
  folder_.count("a.npy", {1, 3}, 0);
  folder_.add("notes.txt", "of no interest");
  folder_.count(".hidden.npy", {7});
  const TensorSet set = list({floats("x", {1, 3})});
  EXPECT_THAT(firsts(set), ElementsAre(0.0F, 10.0F));
  EXPECT_EQ(set.inputs.at(0).name, "x");
  EXPECT_EQ(path_of(set, set.entries[1]), folder_.path() / "b.npy");
}

TEST_F(TensorSetTest, TakesAnAxisOfSamplesInFrontApart) {
  folder_.count("x.npy", {4, 2, 3});
  for (const InputSpec& input :
       {floats("x", {2, 3}), floats("x", {1, 2, 3}), floats("x", {kOpen, 2, kOpen})}) {
    const TensorSet set = list({input});
    ASSERT_EQ(set.entries.size(), 4U);
    EXPECT_THAT(firsts(set), ElementsAre(0.0F, 6.0F, 12.0F, 18.0F));
    EXPECT_EQ(path_of(set, set.entries[2]), folder_.path() / "x.npy[2]");
  }
  EXPECT_EQ(load_tensors(list({floats("x", {1, 2, 3})}), {0, 3}).at(0).shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(firsts(list({floats("x", {2, 3})}, 2)), ElementsAre(0.0F, 12.0F));
}

TEST_F(TensorSetTest, LeavesAxesWholeThatAreNoSamples) {
  folder_.count("x.npy", {4});
  EXPECT_EQ(list({floats("x", {kOpen})}).entries.size(), 1U);  // a sequence
  EXPECT_EQ(list({floats("x", {4})}).entries.size(), 1U);
  EXPECT_EQ(list({floats("x", {})}).entries.size(), 4U);  // scalars
  const TensorSet lacking = list({floats("x", {1, 4})});
  ASSERT_EQ(lacking.entries.size(), 1U);
  EXPECT_EQ(load_tensors(lacking, lacking.entries[0]).at(0).shape(), (Shape{1, 4}));
}

TEST_F(TensorSetTest, RefusesOtherShapes) {
  folder_.count("x.npy", {4, 5});
  EXPECT_THAT(refusal({floats("x", {1, 3})}, ErrorCode::kMismatch),
              HasSubstr("has the shape [4, 5], input 'x' takes [1, 3]"));
  EXPECT_THAT(refusal({floats("x", {2, 1, 5})}, ErrorCode::kMismatch), HasSubstr("[2, 1, 5]"));
  EXPECT_THAT(refusal({floats("x", {kOpen, 1, 1, 1})}, ErrorCode::kMismatch),
              HasSubstr("[?, 1, 1, 1]"));
}

TEST_F(TensorSetTest, PairsTheFoldersOfSeveralInputs) {
  folder_.count("audio/1.npy", {1, 4}, 0);
  folder_.count("audio/2.npy", {2, 4}, 50);
  folder_.count("state/1.npy", {2, 1, 3}, 100);
  folder_.count("state/2.npy", {2, 2, 1, 3}, 200);
  const std::vector<InputSpec> inputs = {floats("audio", {1, 4}), floats("state", {2, 1, 3})};
  const TensorSet set = list(inputs);
  EXPECT_THAT(firsts(set, 0), ElementsAre(0.0F, 50.0F, 54.0F));
  EXPECT_THAT(firsts(set, 1), ElementsAre(100.0F, 200.0F, 206.0F));
  folder_.count("audio/3.npy", {1, 4});
  EXPECT_THAT(refusal(inputs, ErrorCode::kMismatch), HasSubstr("sample '3' has a file for 1 of 2"));
}

TEST_F(TensorSetTest, RefusesUnequalNumbersOfSamplesButOneForAll) {
  folder_.count("a/0.npy", {3, 1, 4});
  folder_.count("b/0.npy", {2, 1, 4});
  const std::vector<InputSpec> inputs = {floats("a", {1, 4}), floats("b", {1, 4})};
  EXPECT_THAT(refusal(inputs, ErrorCode::kMismatch), HasSubstr("holds 2 samples"));
  folder_.count("b/0.npy", {1, 4}, 7);
  EXPECT_THAT(firsts(list(inputs), 1), ElementsAre(7.0F, 7.0F, 7.0F));
}

TEST_F(TensorSetTest, FollowsAList) {
  folder_.count("deep/a.npy", {1, 4}, 1);
  folder_.count("b.npy", {1, 4}, 2);
  const std::vector<InputSpec> inputs = {floats("one", {1, 4}), floats("two", {1, 4})};
  const auto path = folder_.add("list.jsonl",
                                "{\"two\": \"b.npy\", \"one\": \"deep/a.npy\"}\n\n"
                                "{\"one\": \"b.npy\", \"two\": \"deep/a.npy\"}\n");
  const TensorSet set = list_tensors(path, inputs);
  EXPECT_THAT(firsts(set, 0), ElementsAre(1.0F, 2.0F));
  EXPECT_THAT(firsts(set, 1), ElementsAre(2.0F, 1.0F));
  EXPECT_THAT(refusal(folder_.add("none.jsonl", "\n\n"), inputs, ErrorCode::kUsage),
              HasSubstr("names no sample"));
  EXPECT_THAT(
      refusal(folder_.add("few.jsonl", "\n{\"one\": \"b.npy\"}"), inputs, ErrorCode::kUsage),
      HasSubstr("line 2: the field 'two' is missing"));
  EXPECT_THAT(refusal(folder_.add("many.jsonl",
                                  "{\"one\": \"b.npy\", \"two\": \"b.npy\", \"three\": \"b.npy\"}"),
                      inputs, ErrorCode::kUsage),
              HasSubstr("no other keys"));
}

TEST_F(TensorSetTest, FollowsTheDataSetsOfOnnx) {
  // TensorProto: dims = 1, data_type = FLOAT, float_data = {1} or {2}, not packed.
  const std::string one("\x08\x01\x10\x01\x25\x00\x00\x80\x3f", 9);
  const std::string two("\x08\x01\x10\x01\x25\x00\x00\x00\x40", 9);
  for (const char* set : {"test_data_set_0", "test_data_set_1"}) {
    folder_.add(to_text(set, "/input_0.pb"), one);
    folder_.add(to_text(set, "/input_1.pb"), two);
    folder_.add(to_text(set, "/output_0.pb"), two);
  }
  const std::vector<InputSpec> inputs = {floats("a", {1}), floats("b", {1})};
  const TensorSet set = list(inputs);
  EXPECT_THAT(firsts(set, 0), ElementsAre(1.0F, 1.0F));
  EXPECT_THAT(firsts(set, 1), ElementsAre(2.0F, 2.0F));
}

TEST_F(TensorSetTest, DividesRawFilesByTheInputsShape) {
  const Tensor six = Tensor::of<float>({6}, {0, 1, 2, 3, 4, 5});
  const std::string bytes(reinterpret_cast<const char*>(six.data()), 24);
  folder_.add("x.bin", bytes);
  EXPECT_THAT(firsts(list({floats("x", {1, 2})})), ElementsAre(0.0F, 2.0F, 4.0F));
  EXPECT_THAT(firsts(list({floats("x", {kOpen, 3})})), ElementsAre(0.0F, 3.0F));
  EXPECT_EQ(list({floats("x", {kOpen})}).entries.size(), 1U);
  EXPECT_THAT(refusal({floats("x", {4})}, ErrorCode::kInvalidArgument),
              HasSubstr("has 24 bytes, expected 16 for each sample"));
  EXPECT_THAT(refusal({floats("x", {1, kOpen})}, ErrorCode::kMismatch),
              HasSubstr("does not say its shape"));
}

TEST_F(TensorSetTest, WantsAFileForEachInput) {
  const auto file = folder_.count("x.npy", {1, 3});
  EXPECT_THAT(refusal(file, {floats("a", {1, 3}), floats("b", {1, 3})}, ErrorCode::kUsage),
              HasSubstr("the network has 2 ('a', 'b')"));
  EXPECT_THAT(refusal(folder_.path() / "absent", {floats("a", {1})}, ErrorCode::kIo),
              HasSubstr("does not exist"));
  const TensorFolder empty;
  EXPECT_THAT(refusal(empty.path(), {floats("a", {1})}, ErrorCode::kIo), HasSubstr("no tensors"));
}

TEST_F(TensorSetTest, HasAHashOfItsFilesAndTheirOrder) {
  folder_.count("a.npy", {2, 3});
  const std::vector<InputSpec> inputs = {floats("x", {1, 3})};
  const std::uint64_t hash = hash_of(list(inputs));
  EXPECT_EQ(hash, hash_of(list(inputs)));
  EXPECT_NE(hash, hash_of(list(inputs, 1)));
  folder_.count("b.npy", {1, 3});
  EXPECT_NE(hash, hash_of(list(inputs)));
}

class NpyHeader : public TensorSetTest, public testing::WithParamInterface<const char*> {};

TEST_P(NpyHeader, IsRefusedWhateverItClaims) {
  const auto path = folder_.add("x.npy", npy_bytes(GetParam(), std::string(16, '\0')));
  const std::string found =
      refusal(path, {{"x", DType::kFloat32, std::nullopt}}, ErrorCode::kInvalidArgument);
  EXPECT_THAT(found, HasSubstr("x.npy'"));
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, NpyHeader,
    testing::Values(
        "", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} and more",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1099511627776)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,4)}"));

TEST_F(TensorSetTest, RefusesArchivesThatAreCutOffOrLie) {
  const std::vector<InputSpec> any = {{"x", DType::kFloat32, std::nullopt}};
  const std::string end("PK\x05\x06", 4);
  EXPECT_THAT(refusal(folder_.add("a.npz", "not an archive"), any, ErrorCode::kInvalidArgument),
              HasSubstr("is not an .npz archive"));
  // A directory of 2^31 bytes.
  EXPECT_THAT(refusal(folder_.add("b.npz", end + std::string(8, '\0') +
                                               std::string("\0\0\0\x80\0\0\0\0\0\0", 10)),
                      any, ErrorCode::kInvalidArgument),
              HasSubstr("its directory lies outside of it"));
}

}  // namespace
}  // namespace qtool
