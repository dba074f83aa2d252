#include "compare/near_chance.h"

#include <gtest/gtest.h>

namespace qtool {
namespace {

TEST(IsNearChance, TellsGuessingFromKnowing) {
  EXPECT_TRUE(is_near_chance(50, 1000, 20));
  EXPECT_TRUE(is_near_chance(0, 1000, 1000));
  EXPECT_TRUE(is_near_chance(1, 1000, 1000));
  EXPECT_TRUE(is_near_chance(505, 1000, 2));
  EXPECT_FALSE(is_near_chance(160, 1000, 20));  // poor, but better than guessing
  EXPECT_FALSE(is_near_chance(20, 1000, 1000));
  EXPECT_FALSE(is_near_chance(940, 1000, 20));
  EXPECT_FALSE(is_near_chance(0, 3, 20));  // too few to tell
  EXPECT_FALSE(is_near_chance(0, 0, 20));
  EXPECT_FALSE(is_near_chance(5, 5, 1));
  EXPECT_TRUE(is_near_chance(50, 50000, 1000));
}

}  // namespace
}  // namespace qtool
