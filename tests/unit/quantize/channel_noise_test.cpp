#include "quantize/rewrites/channel_noise.h"

#include <gtest/gtest.h>

#include <vector>

namespace qtool {
namespace {

/// Channels of a SiLU. `largest` holds the maximum of each.
std::vector<ChannelUse> silu_channels(const std::vector<float>& largest, bool free = true) {
  constexpr float kLowest = -0.28F;
  Observed observed;
  for (const float high : largest) {
    observed.channel_mins.push_back(kLowest);
    observed.channel_maxs.push_back(high);
    observed.channel_means.push_back(0.1F * high);
  }
  std::vector<ChannelUse> uses;
  for (std::size_t c = 0; c < largest.size(); ++c) {
    uses.push_back({ChannelModel(observed, c, 1e5), {kLowest, largest[c]}, 1.0, free});
  }
  return uses;
}

TEST(WidenRange, MakesRoomForSmallChannelsThatAreScaledUp) {
  std::vector<ChannelUse> uses = silu_channels({90.0F, 9.0F, 9.0F, 9.0F});
  for (std::size_t c = 1; c < uses.size(); ++c) uses[c].gain = 100.0;  // the reader amplifies them
  const Range range{-0.28F, 90.0F};
  const Range wide = widen_range(range, 90.28 / 255.0, uses);
  EXPECT_EQ(wide.max, range.max);
  EXPECT_LT(wide.min, 5.0F * range.min);
  EXPECT_GT(wide.min, 12.0F * range.min);  // these channels cannot use more than 10 times
}

TEST(WidenRange, LeavesARangeAloneWhereNothingIsGained) {
  const Range range{-0.28F, 90.0F};
  EXPECT_EQ(widen_range(range, 90.28 / 255.0, silu_channels({90.0F, 88.0F, 91.0F})), range);
  EXPECT_EQ(widen_range(range, 90.28 / 255.0, silu_channels({90.0F, 9.0F}, false)), range);
  const Range positive{0.0F, 90.0F};
  EXPECT_EQ(widen_range(positive, 90.0 / 255.0, silu_channels({90.0F, 9.0F})), positive);
}

TEST(UsedShare, IsThatOfTheLargerSide) {
  EXPECT_DOUBLE_EQ(used_share({-1.0F, 2.0F}, {-4.0F, 4.0F}), 0.5);
  EXPECT_DOUBLE_EQ(used_share({-3.0F, 2.0F}, {-4.0F, 4.0F}), 0.75);
  EXPECT_DOUBLE_EQ(used_share({-3.0F, 9.0F}, {-4.0F, 4.0F}), 1.0);
  EXPECT_DOUBLE_EQ(used_share({0.0F, 1.0F}, {0.0F, 4.0F}), 0.25);
}

}  // namespace
}  // namespace qtool
