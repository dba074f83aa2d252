#include "quant/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "qtool/base/error.h"
#include "unit/histograms.h"

namespace qtool {
namespace {

TEST(FloatHistogram, StartsEmpty) {
  const FloatHistogram empty;
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.min(), 0.0F);
  EXPECT_EQ(empty.absmax(), 0.0F);
  EXPECT_EQ(empty.first_cell(), empty.end_cell());
}

TEST(FloatHistogram, PutsEveryValueInTheCellThatContainsIt) {
  std::vector<float> values = normal_values(5003, 3.0F, 1);
  values.insert(values.end(), {0.0F, -0.0F, 0x1p-14F, -0x1p-14F, 1e-38F, -1e-45F});
  const FloatHistogram histogram = histogram_of(values);
  const double width = histogram.cell_width();
  std::vector<std::int64_t> expected(2 * FloatHistogram::kCells);
  std::int64_t zeros = 0;
  for (const float value : values) {
    if (std::fabs(value) < std::numeric_limits<float>::min()) {
      ++zeros;
      continue;
    }
    const auto cell = static_cast<std::int64_t>(std::fabs(value) / width);
    ++expected[static_cast<std::size_t>(FloatHistogram::kCells + (value < 0 ? -1 - cell : cell))];
  }
  EXPECT_EQ(histogram.zeros(), zeros);
  EXPECT_EQ(histogram.count(), static_cast<std::int64_t>(values.size()));
  for (std::int64_t cell = -FloatHistogram::kCells; cell < FloatHistogram::kCells; ++cell) {
    ASSERT_EQ(histogram.cell_count(cell),
              expected[static_cast<std::size_t>(FloatHistogram::kCells + cell)])
        << cell;
  }
  const std::vector<std::int64_t> cells = histogram.cells();
  ASSERT_EQ(std::ssize(cells), histogram.end_cell() - histogram.first_cell());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::int64_t cell = histogram.first_cell() + static_cast<std::int64_t>(i);
    ASSERT_EQ(cells[i], histogram.cell_count(cell)) << cell;
  }
  EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
}

TEST(FloatHistogram, HasBetweenHalfAndAllOfItsCellsInTheObservedRange) {
  for (const float largest : {1.0F, 1.5F, 1.9999F, 6.0F, 1e-30F, 3e38F}) {
    const FloatHistogram histogram = histogram_of({largest});
    EXPECT_GT(histogram.end_cell(), FloatHistogram::kCells / 2);
    EXPECT_LE(histogram.end_cell(), FloatHistogram::kCells);
    EXPECT_EQ(histogram.cell_count(histogram.end_cell() - 1), 1);
  }
}

TEST(FloatHistogram, KeepsTrueExtremesOfOneSidedData) {
  EXPECT_EQ(histogram_of({2.0F, 3.0F}).min(), 2.0F);
  EXPECT_EQ(histogram_of({-2.0F, -3.0F}).max(), -2.0F);
  EXPECT_EQ(histogram_of({-2.0F, -3.0F}).absmax(), 3.0F);
  EXPECT_EQ(histogram_of({-2.0F, -3.0F}).end_cell(), 0);
}

TEST(FloatHistogram, DoesNotDependOnOrderOrGrouping) {
  std::vector<float> values = normal_values(4000, 1e-3F, 2);
  const std::vector<float> large = normal_values(4000, 40.0F, 3);
  values.insert(values.end(), large.begin(), large.end());
  values.insert(values.end(), 500, 0.0F);
  const FloatHistogram whole = histogram_of(values);
  std::mt19937 random(4);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    EXPECT_EQ(histogram_of(values), whole);
    FloatHistogram merged;
    for (std::size_t begin = 0; begin < values.size(); begin += 777) {
      const std::size_t end = std::min(values.size(), begin + 777);
      FloatHistogram part;
      part.observe(std::span(values).subspan(begin, end - begin));
      merged.merge(part);
    }
    EXPECT_EQ(merged, whole);
  }
}

TEST(FloatHistogram, MergesSmallerLargerAndEmptyHistograms) {
  const FloatHistogram small = histogram_of({0.01F, 0.02F});
  const FloatHistogram large = histogram_of({-100.0F});
  const FloatHistogram both = histogram_of({0.01F, 0.02F, -100.0F});
  FloatHistogram merged = small;
  merged.merge(large);
  EXPECT_EQ(merged, both);
  merged = large;
  merged.merge(small);
  EXPECT_EQ(merged, both);
  merged.merge(FloatHistogram());
  EXPECT_EQ(merged, both);
  FloatHistogram from_empty;
  from_empty.merge(both);
  EXPECT_EQ(from_empty, both);
  EXPECT_NE(merged, small);
}

TEST(FloatHistogram, CountsBeyond40Bits) {
  FloatHistogram histogram = histogram_of({1.0F, -1.0F, 0.0F});
  for (int doubling = 0; doubling < 41; ++doubling) {
    const FloatHistogram copy = histogram;
    histogram.merge(copy);
  }
  histogram.observe(std::vector<float>{1.0F, 4.0F, 0.0F});
  const std::int64_t many = std::int64_t{1} << 41;
  EXPECT_EQ(histogram.zeros(), many + 1);
  const auto cell = static_cast<std::int64_t>(1.0 / histogram.cell_width());
  EXPECT_EQ(histogram.cell_count(cell), many + 1);
  EXPECT_EQ(histogram.cell_count(-1 - cell), many);
  EXPECT_EQ(histogram.cell_count(4 * cell), 1);
}

TEST(FloatHistogram, KeepsLargeCountsThroughNegativeAndLargerValues) {
  FloatHistogram histogram = histogram_of(std::vector<float>(200'000, 1.0F));
  histogram.observe(std::vector<float>(70'000, -1.0F));  // cells in front of carried counts
  histogram.observe(std::vector<float>{9.0F, 0.0F});     // a grid 8 times as coarse
  histogram.observe(std::vector<float>(40'000, 1.0F));
  const auto cell = static_cast<std::int64_t>(1.0 / histogram.cell_width());
  EXPECT_EQ(histogram.cell_count(cell), 240'000);
  EXPECT_EQ(histogram.cell_count(-1 - cell), 70'000);
  EXPECT_EQ(histogram.cell_count(9 * cell), 1);
  EXPECT_EQ(histogram.zeros(), 1);
  EXPECT_EQ(histogram.count(), 310'002);
}

TEST(FloatHistogram, RefusesMoreValuesThanItCanCount) {
  const FloatHistogram one = histogram_of({1.0F});
  std::vector<std::int64_t> cells(static_cast<std::size_t>(one.end_cell()));
  cells.back() = CellCounts::kMaxCount;
  FloatHistogram full = FloatHistogram::from_cells(0.0F, 1.0F, 0, cells);
  EXPECT_EQ(full.count(), CellCounts::kMaxCount);
  EXPECT_THROW(full.merge(one), Error);
  EXPECT_THROW(full.observe(std::vector<float>{1.0F}), Error);
  EXPECT_EQ(full.cell_count(one.end_cell() - 1), CellCounts::kMaxCount);
  EXPECT_THROW(FloatHistogram::from_cells(0.0F, 1.0F, 1, cells), Error);
}

TEST(FloatHistogram, WeighsWhatItMergesUpToTheLargestCount) {
  const FloatHistogram three = histogram_of({1.0F, 1.0F, 0.0F});
  const std::int64_t times = CellCounts::kMaxCount / 3;
  FloatHistogram full;
  full.merge(three, times);
  EXPECT_EQ(full.count(), 3 * times);
  EXPECT_EQ(full.zeros(), times);
  EXPECT_EQ(full.cell_count(three.end_cell() - 1), 2 * times);
  const FloatHistogram before = full;
  EXPECT_THROW(full.merge(three, 1), Error);
  EXPECT_THROW(full.merge(three, times), Error);
  EXPECT_THROW(full.merge(three, std::numeric_limits<std::int64_t>::max()), Error);
  EXPECT_EQ(full, before);
}

TEST(FloatHistogram, LeavesOutWhatIsNotFiniteAndCountsIt) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> values = normal_values(3000, 1.0F, 5);
  const FloatHistogram clean = histogram_of(values);
  values.insert(values.begin() + 1500, {kNan, -kNan, kInf, -kInf});
  const FloatHistogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.nonfinite(), 4);
  EXPECT_EQ(histogram.count(), 3000);
  EXPECT_EQ(magnitude_histogram(histogram, 100).counts, magnitude_histogram(clean, 100).counts);
  EXPECT_EQ(histogram_of({kNan, kInf}).count(), 0);
}

TEST(FloatHistogram, ScalesWithPowersOfTwo) {
  std::vector<float> values = normal_values(2000, 1.0F, 6);
  const FloatHistogram histogram = histogram_of(values);
  for (const int power : {-60, -1, 1, 60}) {
    std::vector<float> scaled = values;
    for (float& value : scaled) value = std::ldexp(value, power);
    const FloatHistogram other = histogram_of(scaled);
    EXPECT_EQ(other.cell_width(), std::ldexp(histogram.cell_width(), power));
    EXPECT_EQ(magnitude_histogram(other, 2048).counts, magnitude_histogram(histogram, 2048).counts);
  }
}

TEST(FloatHistogram, TakesTheWholeRangeOfFloat) {
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::min();
  const FloatHistogram histogram = histogram_of({largest, -largest, smallest, 1.0F});
  EXPECT_EQ(magnitude_histogram(histogram, 10).counts.back(), 2);
  EXPECT_EQ(magnitude_histogram(histogram, 10).counts.front(), 2);
  EXPECT_EQ(magnitude_histogram(histogram_of({smallest, -smallest}), 10).total(), 2);
}

TEST(MagnitudeHistogram, MovesNoValueByMoreThanOneCell) {
  const std::vector<float> values = normal_values(20000, 1.0F, 7);
  const FloatHistogram histogram = histogram_of(values);
  constexpr std::int64_t kBins = 2048;
  const LinearHistogram binned = magnitude_histogram(histogram, kBins);
  EXPECT_EQ(binned.total(), 20000);
  EXPECT_EQ(binned.upper, histogram.absmax());
  // Compares the running total of the bins with the sorted values. A value may move by at most one
  // cell to either side.
  std::vector<double> sorted;
  for (const float value : values) sorted.push_back(std::fabs(double{value}));
  std::sort(sorted.begin(), sorted.end());
  std::int64_t below = 0;
  for (std::int64_t bin = 0; bin < kBins; ++bin) {
    below += binned.counts[static_cast<std::size_t>(bin)];
    const double edge = static_cast<double>(bin + 1) * binned.width();
    const auto at_most = [&](double limit) {
      return std::upper_bound(sorted.begin(), sorted.end(), limit) - sorted.begin();
    };
    EXPECT_GE(below, at_most(edge - histogram.cell_width())) << bin;
    EXPECT_LE(below, at_most(edge + histogram.cell_width())) << bin;
  }
}

TEST(MagnitudeHistogram, PutsTheLargestValueIntoTheLastBin) {
  for (const float largest : {1.0F, 6.0F, 5.9F, 0.7331F}) {
    std::vector<float> values(1000, largest);  // as after Clip
    values.push_back(-largest / 3.0F);
    const LinearHistogram binned = magnitude_histogram(histogram_of(values), 2048);
    EXPECT_EQ(binned.counts.back(), 1000);
    EXPECT_EQ(binned.total(), 1001);
  }
}

TEST(MagnitudeHistogram, PutsPixelsIntoTheSameBinsWhateverTheLastBitsOfTheirMaximumAre) {
  const auto binned = [](float factor) {
    std::vector<float> pixels;
    for (int level = 0; level < 256; ++level) {
      pixels.insert(pixels.end(), 1000, factor * (static_cast<float>(level) / 127.5F - 1.0F));
    }
    return magnitude_histogram(histogram_of(pixels), 2048).counts;
  };
  EXPECT_EQ(binned(1.0F), binned(1.000001F));
  EXPECT_EQ(binned(1.0F), binned(0.999999F));
}

TEST(MagnitudeHistogram, RefinesBeyondItsCellsWithoutLoss) {
  const LinearHistogram binned =
      magnitude_histogram(histogram_of(normal_values(5000, 1.0F, 8)), 1 << 17);
  EXPECT_EQ(binned.total(), 5000);
}

TEST(MagnitudeHistogram, IsAllZeroWithoutValues) {
  EXPECT_EQ(magnitude_histogram(FloatHistogram(), 16).total(), 0);
  EXPECT_EQ(magnitude_histogram(histogram_of({0.0F, 0.0F}), 16).total(), 0);
  EXPECT_THROW(magnitude_histogram(FloatHistogram(), 0), Error);
  EXPECT_THROW(magnitude_histogram(FloatHistogram(), (1 << 20) + 1), Error);
}

TEST(MagnitudeHistogram, PutsBothSignsTogetherWhicheverReachesFarther) {
  const std::vector<float> inner = normal_values(3000, 0.1F, 9);
  for (const float low : {-1.0F, -0.3F, 0.0F}) {
    for (const float high : {0.0F, 0.3F, 1.0F}) {
      std::vector<float> values;
      for (const float value : inner) values.push_back(std::clamp(value, low, high));
      values.push_back(low);
      values.push_back(high);
      std::vector<float> magnitudes;
      for (const float value : values) magnitudes.push_back(std::fabs(value));
      for (const std::int64_t bins : {1, 7, 2048}) {
        // The cells of -x mirror the cells of x.
        EXPECT_EQ(magnitude_histogram(histogram_of(values), bins),
                  magnitude_histogram(histogram_of(magnitudes), bins))
            << low << " to " << high;
      }
    }
  }
}

TEST(FloatHistogram, CountsOnWithinTheRangeItGotFromAnother) {
  const std::vector<float> first = normal_values(3000, 1.0F, 10);
  const std::vector<float> second = normal_values(3000, 0.25F, 11);
  FloatHistogram expected = histogram_of(first);
  expected.observe(second);
  const FloatHistogram source = histogram_of(first);
  FloatHistogram merged;
  merged.merge(source);
  FloatHistogram copied = source;
  FloatHistogram read =
      FloatHistogram::from_cells(source.min(), source.max(), source.zeros(), source.cells());
  for (FloatHistogram* const histogram : {&merged, &copied, &read}) {
    histogram->observe(second);
    EXPECT_EQ(*histogram, expected);
  }
}

}  // namespace
}  // namespace qtool
