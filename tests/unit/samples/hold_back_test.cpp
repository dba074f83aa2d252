// The samples that play no part in a choice.
#include "qtool/samples/hold_back.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.h"

namespace qtool {
namespace {

Samples numbered(std::int64_t count) {
  ImageSet images;
  for (std::int64_t i = 0; i < count; ++i) images.entries.push_back({to_text(i), -1});
  return Samples(std::move(images));
}

TEST(HoldBack, TakesEveryThirdImage) {
  const SplitSamples split = hold_back(numbered(kLeastForHoldOut));
  ASSERT_TRUE(split.held.has_value());
  EXPECT_EQ(split.rest.size(), 10);
  EXPECT_EQ(split.held->size(), 5);
  EXPECT_EQ(split.held->path(0), "2");
  std::set<std::filesystem::path> all;
  for (std::int64_t i = 0; i < 10; ++i) all.insert(split.rest.path(i));
  for (std::int64_t i = 0; i < 5; ++i) all.insert(split.held->path(i));
  EXPECT_EQ(all.size(), 15U);
}

TEST(HoldBack, TakesNoneOfAFewImages) {
  const SplitSamples split = hold_back(numbered(kLeastForHoldOut - 1));
  EXPECT_FALSE(split.held.has_value());
  EXPECT_EQ(split.rest.size(), kLeastForHoldOut - 1);
}

}  // namespace
}  // namespace qtool
