#include "quant/cell_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace qtool {
namespace {

// A callback for make_room() which says that any cell may be in use.
auto all_of(const CellCounts& counts) {
  return [&counts] { return CellCounts::Span{0, counts.size()}; };
}

// Counts `values` in one cell as a kernel does.
void count_in_cell(CellCounts& counts, std::size_t cell, std::int64_t values) {
  while (values > 0) {
    const std::int64_t part = std::min(values, CellCounts::kMaxAtOnce);
    counts.make_room(part, all_of(counts));
    std::uint16_t& counter = counts.counters()[cell];
    const int before = counter;
    counter = static_cast<std::uint16_t>(counter + part);
    ASSERT_GT(int{counter}, before) << "the counter overflowed";
    values -= part;
  }
}

TEST(CellCounts, StartsWithoutCells) {
  CellCounts counts;
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts.size(), 0U);
  counts.make_room(7, all_of(counts));
  counts.grow_front(3);
  EXPECT_FALSE(counts.empty());
  EXPECT_EQ(counts.size(), 3U);
  for (std::size_t cell = 0; cell < 3; ++cell) EXPECT_EQ(counts.at(cell), 0);
}

TEST(CellCounts, AddsWhatIsCountedAndWhatIsAdded) {
  CellCounts counts;
  counts.grow_front(2);
  count_in_cell(counts, 1, 30);
  counts.add(1, 30);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 60);
}

TEST(CellCounts, NeverLosesACarry) {
  // Totals just below, at and above the capacity of a counter and of a carry.
  for (const std::int64_t total : {32767, 32768, 32769, 65535, 65536, 65537, 98304, 1000000}) {
    CellCounts counts;
    counts.grow_front(3);
    count_in_cell(counts, 1, total);
    count_in_cell(counts, 2, 5);
    EXPECT_EQ(counts.at(0), 0);
    EXPECT_EQ(counts.at(1), total);
    EXPECT_EQ(counts.at(2), 5);
  }
}

TEST(CellCounts, LosesNothingWhenRoomIsGivenBack) {
  CellCounts counts;
  counts.grow_front(1);
  std::int64_t total = 0;
  for (int step = 0; step < 1000; ++step) {
    counts.make_room(CellCounts::kMaxAtOnce, all_of(counts));
    const int before = counts.counters()[0];
    counts.counters()[0] = static_cast<std::uint16_t>(before + 1000);
    ASSERT_GT(int{counts.counters()[0]}, before) << "the counter overflowed";
    counts.give_back(CellCounts::kMaxAtOnce - 1000);
    total += 1000;
    ASSERT_EQ(counts.at(0), total);
  }
}

TEST(CellCounts, LooksForRoomWhereCellsAreInUseOnly) {
  CellCounts counts;
  counts.grow_front(3001);
  const CellCounts::Span used{1500, 1502};
  std::int64_t total = 0;
  for (int step = 0; step < 40; ++step) {
    counts.make_room(20000, [&] { return used; });
    for (const std::size_t cell : {used.first, used.end - 1}) {
      const int before = counts.counters()[cell];
      counts.counters()[cell] = static_cast<std::uint16_t>(before + 10000);
      ASSERT_GT(int{counts.counters()[cell]}, before) << "the counter overflowed";
    }
    total += 10000;
  }
  EXPECT_EQ(counts.at(1500), total);
  EXPECT_EQ(counts.at(1501), total);
}

TEST(CellCounts, ReadsARangeAsItReadsSingleCells) {
  for (const std::size_t size : {1U, 1023U, 1024U, 1025U, 5000U}) {
    CellCounts counts;
    counts.grow_front(size);
    for (std::size_t cell = 0; cell < size; cell += 1 + cell / 3) {
      counts.add(cell, static_cast<std::int64_t>(cell) * 1'000'003);
    }
    for (const CellCounts::Span span : {CellCounts::Span{0, size}, CellCounts::Span{size / 3, size},
                                        CellCounts::Span{size / 2, size / 2 + size / 4}}) {
      const std::vector<std::int64_t> found = counts.range(span);
      ASSERT_EQ(found.size(), span.end - span.first);
      for (std::size_t cell = span.first; cell < span.end; ++cell) {
        ASSERT_EQ(found[cell - span.first], counts.at(cell)) << cell << " of " << size;
      }
    }
  }
}

TEST(CellCounts, CountsAsAPlainVectorDoes) {
  std::mt19937 random(1);
  CellCounts counts;
  counts.grow_front(4);
  std::vector<std::int64_t> expected(4);
  for (int step = 0; step < 3000; ++step) {
    const std::size_t cell = random() % 4;
    const auto values = static_cast<std::int64_t>(random() % 40000);
    if (step % 7 == 0) {
      counts.add(cell, values);
    } else {
      count_in_cell(counts, cell, values);
    }
    expected[cell] += values;
    if (step % 500 == 499) {
      counts.grow_front(1);  // moves the last cell to the front
      counts.add(0, counts.take(4));
      expected = {expected[3], expected[0], expected[1], expected[2]};
      for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(counts.at(i), expected[i]);
      CellCounts same;
      same.grow_front(4);
      for (std::size_t i = 0; i < 4; ++i) same.add(i, counts.at(i));
      counts = same;
    }
  }
}

TEST(CellCounts, AddsCountsOfAnySize) {
  CellCounts counts;
  counts.grow_front(2);
  counts.add(0, CellCounts::kMaxCount - 7);
  counts.add(0, 7);
  EXPECT_EQ(counts.at(0), CellCounts::kMaxCount);
  EXPECT_EQ(counts.at(1), 0);
  count_in_cell(counts, 1, 70000);
  EXPECT_EQ(counts.at(0), CellCounts::kMaxCount);
  EXPECT_EQ(counts.at(1), 70000);
}

TEST(CellCounts, GrowsInFrontOfTheCountsItHas) {
  CellCounts counts;
  counts.grow_front(1);
  counts.add(0, 5000000002);
  counts.grow_front(2);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 0);
  EXPECT_EQ(counts.at(2), 5000000002);
  counts.add(0, 6000000000);
  EXPECT_EQ(counts.at(0), 6000000000);
  EXPECT_EQ(counts.at(2), 5000000002);
}

TEST(CellCounts, TakesTheWholeCountAndLeavesTheOthers) {
  for (const std::int64_t large : {3LL, 1LL << 14, 5000000003LL}) {
    CellCounts counts;
    counts.grow_front(2);
    counts.add(0, large);
    counts.add(1, 6);
    EXPECT_EQ(counts.take(0), large);
    EXPECT_EQ(counts.at(0), 0);
    EXPECT_EQ(counts.at(1), 6);
    EXPECT_EQ(counts.take(0), 0);
    // The taken count can be added to another cell, as a histogram does when it gets coarser.
    counts.add(1, large);
    EXPECT_EQ(counts.take(1), large + 6);
  }
}

}  // namespace
}  // namespace qtool
