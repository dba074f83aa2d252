#include "kernels/conv/pack_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace qtool {
namespace {

constexpr GemmLayout kLimited{.max_panels = 1, .pair_limit = 128};

struct OneByOne {
  std::vector<std::int8_t> values;
  std::vector<std::int32_t> bias;
  ConvWeights weights;
  ConvOutput output;

  OneByOne(std::int64_t in, std::int64_t out, std::vector<std::int8_t> of_filters)
      : values(std::move(of_filters)), bias(static_cast<std::size_t>(out)) {
    weights.in_channels = in;
    weights.out_channels = out;
    weights.values = values;
    weights.bias = bias;
    output.multiplier.assign(static_cast<std::size_t>(out), 1.0F);
  }
};

// The sum of the packed weights of a channel for each input byte.
std::vector<int> unpack(const PackedPanels& panels, const PanelUnit& unit, std::int64_t channel) {
  std::vector<int> sums(static_cast<std::size_t>(panels.row_bytes));
  const auto packed = panels.weights.values<std::int8_t>();
  for (std::int32_t step = 0; step < panels.ends[static_cast<std::size_t>(unit.ends_at)]; ++step) {
    const std::int32_t start = panels.starts[static_cast<std::size_t>(unit.starts_at + step)];
    for (std::int64_t byte = 0; byte < kLimited.group; ++byte) {
      const std::int64_t at = unit.weights_at + (step * kLimited.panel + channel) * kLimited.group;
      sums[static_cast<std::size_t>(start + byte)] += packed[static_cast<std::size_t>(at + byte)];
    }
  }
  return sums;
}

TEST(PairLimit, HoldsForPackedWeightsThatSumToTheGivenOnes) {
  std::mt19937 random(7);
  constexpr std::int64_t kIn = 18;
  constexpr std::int64_t kOut = 37;
  std::vector<std::int8_t> values(kIn * kOut);
  for (std::int8_t& value : values) {
    // Every third weight is an extreme one.
    const int drawn = static_cast<int>(random() % 256) - 128;
    value = static_cast<std::int8_t>(random() % 3 == 0 ? (drawn < 0 ? -128 : 127) : drawn);
  }
  const OneByOne layer(kIn, kOut, values);
  const PackedPanels panels = pack_panels(layer.weights, layer.output, kLimited);
  const auto packed = panels.weights.values<std::int8_t>();
  for (std::size_t at = 0; at < packed.size(); at += 2) {
    EXPECT_LE(std::max<int>(packed[at], 0) + std::max<int>(packed[at + 1], 0), 128);
    EXPECT_GE(std::min<int>(packed[at], 0) + std::min<int>(packed[at + 1], 0), -128);
  }
  ASSERT_EQ(panels.units.size(), 3U);
  for (const PanelUnit& unit : panels.units) {
    for (std::int64_t c = 0; c < unit.channels; ++c) {
      const auto* filter = &values[static_cast<std::size_t>((unit.channel + c) * kIn)];
      EXPECT_EQ(unpack(panels, unit, c), std::vector<int>(filter, filter + kIn));
    }
  }
}

TEST(PairLimit, CostsNothingWhereNoPairExceedsIt) {
  constexpr std::int64_t kIn = 16;
  std::vector<std::int8_t> values(kIn * 16, 64);
  const OneByOne at_the_limit(kIn, 16, values);
  EXPECT_EQ(pack_panels(at_the_limit.weights, at_the_limit.output, kLimited).starts.size(), 4U);
  values[5] = 65;
  const OneByOne beyond(kIn, 16, values);
  EXPECT_EQ(pack_panels(beyond.weights, beyond.output, kLimited).starts,
            (std::vector<std::int32_t>{0, 4, 4, 8, 12}));
}

TEST(PairLimit, OfOtherLayoutsIsNone) {
  const OneByOne layer(4, 16, std::vector<std::int8_t>(64, 127));
  const PackedPanels panels = pack_panels(layer.weights, layer.output, GemmLayout{});
  EXPECT_TRUE(panels.starts.empty());
  EXPECT_TRUE(panels.ends.empty());
}

}  // namespace
}  // namespace qtool
