#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace qtool {
namespace {

std::vector<std::int64_t> characters(std::string_view text) { return {text.begin(), text.end()}; }

std::int64_t edits(std::string_view a, std::string_view b) {
  return edit_distance(characters(a), characters(b));
}

TEST(EditDistance, CountsInsertedRemovedAndReplacedCharacters) {
  EXPECT_EQ(edits("", ""), 0);
  EXPECT_EQ(edits("abc", "abc"), 0);
  EXPECT_EQ(edits("abc", ""), 3);
  EXPECT_EQ(edits("", "ab"), 2);
  EXPECT_EQ(edits("kitten", "sitting"), 3);
  EXPECT_EQ(edits("flaw", "lawn"), 2);
  EXPECT_EQ(edits("intention", "execution"), 5);
  EXPECT_EQ(edits("aaaa", "aa"), 2);
}

// A network may give millions of steps, and the square of that would never end.
TEST(EditDistance, ComparesLongTextsInPieces) {
  std::vector<std::int64_t> a(10'000, 1);
  std::vector<std::int64_t> b = a;
  b[5'000] = 2;
  b[9'999] = 3;
  b.push_back(4);
  EXPECT_EQ(edit_distance(a, b), 3);
  EXPECT_EQ(edit_distance(a, std::vector<std::int64_t>(1'000'000, 1)), 990'000);
}

}  // namespace
}  // namespace qtool
