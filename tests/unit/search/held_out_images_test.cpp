// What the images that a search does not choose by have in common with others.
#include "search/held_out_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "support/image_folder.h"

namespace qtool {
namespace {

TEST(CopiesOfSearched, AreCountedByContent) {
  const ImageFolder folder(4, 14);
  folder.add("z.ppm", 3);  // the last one, which is held back, is a copy of 3.ppm
  const SplitSamples split = hold_back(folder.list());
  ASSERT_EQ(split.held->path(4).filename(), "z.ppm");
  EXPECT_EQ(contents_of(split, {}, 1, {}).held_copies, 1);
  EXPECT_EQ(contents_of(hold_back(Samples(folder.list()).spread(3)), {}, 1, {}).held_copies, 0);
}

// Images of both parts that set the ranges are counted, and those of the held part alone.
TEST(ContentsOf, CountsTheImagesThatSetTheRanges) {
  const ImageFolder folder(4, 15);
  const SplitSamples split = hold_back(folder.list());
  std::vector<std::uint64_t> calibrated{content_id(split.rest, 0).value(),
                                        content_id(*split.held, 1).value(),
                                        content_id(*split.held, 2).value()};
  std::ranges::sort(calibrated);
  const SplitContents contents = contents_of(split, calibrated, 1, {});
  EXPECT_EQ(contents.held_copies, 0);
  EXPECT_EQ(contents.held_calibrated, 2);
  EXPECT_EQ(contents.overlap, (Overlap{"image", 15, 3}));
  EXPECT_FALSE(contents_of(split, {}, 1, {}).overlap.has_value());
}

// The images that are searched on were read without asking.
TEST(ContentsOf, AsksForEachImageWhetherToStop) {
  const ImageFolder folder(4, 15);
  std::atomic<int> asked = 0;
  const StopCheck never = [&] { return ++asked < 0; };
  static_cast<void>(contents_of(hold_back(folder.list()), {}, 1, never));
  EXPECT_GE(asked, 15);
}

}  // namespace
}  // namespace qtool
