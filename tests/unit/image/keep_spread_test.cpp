#include "image/keep_spread.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace qtool {
namespace {

std::vector<int> kept(int all, std::int64_t count) {
  std::vector<int> entries;
  for (int i = 0; i < all; ++i) entries.push_back(i);
  keep_spread(entries, count);
  return entries;
}

TEST(KeepSpread, TakesEntriesEvenlyFromTheFirstOn) {
  EXPECT_EQ(kept(10, 4), (std::vector<int>{0, 2, 5, 7}));
  EXPECT_EQ(kept(10, 1), std::vector<int>{0});
  EXPECT_EQ(kept(3, 2), (std::vector<int>{0, 1}));
}

TEST(KeepSpread, KeepsAllWhereThereAreNoMore) {
  EXPECT_EQ(kept(3, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(kept(3, 7), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(kept(0, 5).empty());
  EXPECT_TRUE(kept(5, 0).empty());
}

TEST(KeepSpread, MovesWhatCannotBeCopied) {
  std::vector<std::unique_ptr<int>> entries;
  for (int i = 0; i < 5; ++i) entries.push_back(std::make_unique<int>(i));
  keep_spread(entries, 2);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(*entries[0], 0);
  EXPECT_EQ(*entries[1], 2);
}

}  // namespace
}  // namespace qtool
