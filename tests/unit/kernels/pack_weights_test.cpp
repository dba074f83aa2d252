#include "kernels/conv/pack_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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

// The weights of a unit's channel for each input byte, from all steps. Narrow steps must keep the
// limit.
std::vector<int> unpack(const PackedPanels& panels, const PanelUnit& unit, std::int64_t channel) {
  std::vector<int> sums(static_cast<std::size_t>(panels.row_bytes));
  const std::int8_t* packed = panels.weights.values<std::int8_t>().data() + unit.weights_at;
  const TapSteps& steps = panels.steps.at(static_cast<std::size_t>(unit.steps_at));
  for (std::int32_t step = 0; step < steps.wide_end; ++step) {
    const std::int32_t start = panels.starts.at(static_cast<std::size_t>(unit.starts_at + step));
    int found[4] = {};
    const auto order = std::ranges::upper_bound(steps.narrow_end, step) - steps.narrow_end;
    if (order < kByteOrders) {
      const std::int8_t* weights = packed + channel * 4;
      for (const int at : {0, 2}) {
        EXPECT_LE(std::max<int>(weights[at], 0) + std::max<int>(weights[at + 1], 0), 128);
        EXPECT_GE(std::min<int>(weights[at], 0) + std::min<int>(weights[at + 1], 0), -128);
      }
      for (int i = 0; i < 4; ++i) found[kByteOrder[order][i]] = weights[i];
    } else {
      for (int byte = 0; byte < 4; ++byte) {
        std::int16_t word = 0;
        std::memcpy(&word, packed + byte % 2 * 64 + channel * 4 + byte / 2 * 2, sizeof word);
        found[byte] = word;
      }
      packed += 64;
    }
    packed += 64;
    EXPECT_LE(start + 4, panels.row_bytes);
    for (std::size_t byte = 0; byte < 4; ++byte) {
      sums[static_cast<std::size_t>(start) + byte] += found[byte];
    }
  }
  return sums;
}

TEST(PairLimit, HoldsForNarrowStepsThatSumToTheGivenWeights) {
  std::mt19937 random(7);
  constexpr std::int64_t kIn = 18;
  constexpr std::int64_t kOut = 37;
  std::vector<std::int8_t> values(kIn * kOut);
  for (std::int8_t& value : values) {
    // Few pairs are large, so there are steps of all kinds.
    value = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
    if (random() % 6 != 0) value = static_cast<std::int8_t>(value / 3);
  }
  const OneByOne layer(kIn, kOut, values);
  const PackedPanels panels = pack_panels(layer.weights, layer.output, kLimited);
  ASSERT_EQ(panels.units.size(), 3U);
  ASSERT_EQ(panels.steps.size(), 3U);
  std::int32_t narrow[kByteOrders] = {};
  std::int32_t wide = 0;
  for (const PanelUnit& unit : panels.units) {
    const TapSteps& steps = panels.steps[static_cast<std::size_t>(unit.steps_at)];
    for (int order = 0; order < kByteOrders; ++order) {
      narrow[order] += steps.narrow_end[order] - (order == 0 ? 0 : steps.narrow_end[order - 1]);
    }
    wide += steps.wide_end - steps.narrow_end[kByteOrders - 1];
    for (std::int64_t c = 0; c < unit.channels; ++c) {
      const auto* filter = &values[static_cast<std::size_t>((unit.channel + c) * kIn)];
      EXPECT_EQ(unpack(panels, unit, c), std::vector<int>(filter, filter + kIn));
    }
  }
  for (const std::int32_t steps : narrow) EXPECT_GT(steps, 0);
  EXPECT_GT(wide, 0);
  EXPECT_EQ(panels.weights.elements(), 64 * (narrow[0] + narrow[1] + narrow[2] + 2 * wide));
}

TEST(PairLimit, WidensAGroupThatExceedsItInEveryOrder) {
  constexpr std::int64_t kIn = 16;
  std::vector<std::int8_t> values(kIn * 16, 64);
  const auto packed = [&] {
    const OneByOne layer(kIn, 16, values);
    return pack_panels(layer.weights, layer.output, kLimited);
  };
  const PackedPanels narrow = packed();
  EXPECT_EQ(narrow.starts, (std::vector<std::int32_t>{0, 4, 8, 12}));
  EXPECT_EQ(narrow.steps.front().narrow_end[0], 4);
  values[4] = values[5] = 100;  // pairs with small weights in another order
  values[6] = values[7] = 20;
  const PackedPanels crossed = packed();
  EXPECT_EQ(crossed.starts, (std::vector<std::int32_t>{0, 8, 12, 4}));
  EXPECT_EQ(crossed.steps.front().narrow_end[0], 3);
  EXPECT_EQ(crossed.steps.front().narrow_end[1], 4);
  EXPECT_EQ(crossed.steps.front().wide_end, 4);
  values[4] = values[6] = values[7] = 64;
  values[5] = 65;
  const PackedPanels wide = packed();
  EXPECT_EQ(wide.starts, (std::vector<std::int32_t>{0, 8, 12, 4}));
  EXPECT_EQ(wide.steps.front().narrow_end[2], 3);
  EXPECT_EQ(wide.steps.front().wide_end, 4);
}

TEST(PairLimit, OfOtherLayoutsIsNone) {
  const OneByOne layer(4, 16, std::vector<std::int8_t>(64, 127));
  const PackedPanels panels = pack_panels(layer.weights, layer.output, GemmLayout{});
  EXPECT_TRUE(panels.starts.empty());
  EXPECT_TRUE(panels.steps.empty());
}

}  // namespace
}  // namespace qtool
