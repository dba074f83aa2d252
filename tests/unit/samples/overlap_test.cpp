#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/samples/samples.h"
#include "support/code_of.h"
#include "support/image_folder.h"
#include "support/tensor_folder.h"

namespace qtool {
namespace {

constexpr std::int64_t kPhotoSide = 4;

std::vector<std::uint64_t> sorted_ids(const Samples& samples) {
  std::vector<std::uint64_t> ids;
  for (const std::optional<std::uint64_t>& id : content_ids(samples)) ids.push_back(id.value());
  std::sort(ids.begin(), ids.end());
  return ids;
}

Samples vectors_in(const std::filesystem::path& path) {
  const std::vector<std::optional<std::int64_t>> extents{1, 4};
  return Samples(list_tensors(path, {InputSpec{"x", DType::kFloat32, extents}}));
}

TEST(Overlap, CountsCopiesUnderOtherNamesAndNotOtherBytesUnderTheSameName) {
  const ImageFolder ours(kPhotoSide, 3);    // images 0, 1, 2
  const ImageFolder theirs(kPhotoSide, 0);  // elsewhere
  theirs.add("renamed.ppm", 1);
  theirs.add("0.ppm", 7);
  theirs.add("2.ppm", 2);
  theirs.add("a copy of it.ppm", 2);
  const std::vector<std::uint64_t> ids = sorted_ids(ours.list());
  EXPECT_EQ(overlap_of(ids, theirs.list()), (Overlap{"image", 4, 3}));
  EXPECT_EQ(overlap_of(ids, ours.list()), (Overlap{"image", 3, 3}));
  const ImageFolder others(kPhotoSide, 0);
  others.add("0.ppm", 8);
  EXPECT_EQ(overlap_of(ids, others.list()), (Overlap{"image", 1, 0}));
}

TEST(Overlap, OfASetThatIsNotKnownIsNotKnown) {
  const ImageFolder folder(kPhotoSide, 2);
  EXPECT_EQ(overlap_of({}, folder.list()), std::nullopt);
}

TEST(Overlap, LeavesOutWhatCannotBeRead) {
  const ImageFolder folder(kPhotoSide, 3);
  const Samples samples = folder.list();
  const std::vector<std::uint64_t> ids = sorted_ids(samples);
  std::filesystem::remove(samples.path(1));
  const std::vector<std::optional<std::uint64_t>> read = content_ids(samples);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_TRUE(read[0]);
  EXPECT_FALSE(read[1]);
  EXPECT_TRUE(read[2]);
  EXPECT_EQ(overlap_of(ids, samples), (Overlap{"image", 2, 2}));
}

TEST(Overlap, TellsTensorsApartByTheirValues) {
  const TensorFolder ours;
  ours.count("both.npy", {2, 4});  // samples 0 to 3 and 4 to 7
  const TensorFolder theirs;
  theirs.count("other name.npy", {1, 4}, 4.0F);
  theirs.count("both.npy", {2, 4}, 8.0F);
  const std::vector<std::uint64_t> ids = sorted_ids(vectors_in(ours.path()));
  EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 2U);
  EXPECT_EQ(overlap_of(ids, vectors_in(theirs.path())), (Overlap{"sample", 3, 1}));
}

TEST(Overlap, DoesNotDependOnThreads) {
  const ImageFolder folder(kPhotoSide, 9);
  const Samples samples = folder.list();
  EXPECT_EQ(content_ids(samples, 1), content_ids(samples, 4));
}

TEST(Overlap, CanBeStopped) {
  const ImageFolder folder(kPhotoSide, 2);
  const Samples samples = folder.list();
  const std::vector<std::uint64_t> ids = sorted_ids(samples);
  EXPECT_EQ(code_of([&] { overlap_of(ids, samples, 1, [] { return true; }); }),
            ErrorCode::kCancelled);
}

}  // namespace
}  // namespace qtool
