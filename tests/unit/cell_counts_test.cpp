#include "qtool/quant/cell_counts.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace qtool {
namespace {

constexpr std::int64_t kMostInLanes = 4294967295;  // 2^32 - 1

TEST(CellCounts, StartsWithoutCells) {
  CellCounts counts;
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts.size(), 0U);
  counts.grow_front(3);
  EXPECT_FALSE(counts.empty());
  EXPECT_EQ(counts.size(), 3U);
  for (std::size_t cell = 0; cell < 3; ++cell) EXPECT_EQ(counts.at(cell), 0);
}

TEST(CellCounts, AddsWhatIsCountedInEitherLaneAndByAdd) {
  CellCounts counts;
  counts.grow_front(2);
  counts.make_room(60);
  counts.lanes()[1][0] += 10;
  counts.lanes()[1][1] += 20;
  counts.add(1, 30);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 60);
}

TEST(CellCounts, KeepsRoomThatWasMadeBeforeThereWereCells) {
  CellCounts counts;
  counts.make_room(3000000000);
  counts.make_room(3000000000);
  counts.grow_front(1);
  counts.add(0, 6000000000);
  EXPECT_EQ(counts.at(0), 6000000000);
  CellCounts large;
  large.make_room(5000000000);
  large.grow_front(0);
  large.grow_front(1);
  large.grow_front(1);
  large.add(1, 5000000000);
  EXPECT_EQ(large.at(0), 0);
  EXPECT_EQ(large.at(1), 5000000000);
}

TEST(CellCounts, GrowsInFrontOfTheCountsItHas) {
  CellCounts counts;
  counts.grow_front(2);
  counts.make_room(12);
  counts.add(0, 5);
  counts.add(1, 7);
  counts.grow_front(3);
  ASSERT_EQ(counts.size(), 5U);
  for (std::size_t cell = 0; cell < 3; ++cell) EXPECT_EQ(counts.at(cell), 0);
  EXPECT_EQ(counts.at(3), 5);
  EXPECT_EQ(counts.at(4), 7);
}

TEST(CellCounts, HoldsAsManyValuesAsALaneInOneCell) {
  CellCounts counts;
  counts.grow_front(1);
  counts.make_room(kMostInLanes);
  counts.add(0, kMostInLanes);
  EXPECT_EQ(counts.at(0), kMostInLanes);
  // One more is one too many for the lanes.
  counts.make_room(1);
  counts.add(0, 1);
  EXPECT_EQ(counts.at(0), 4294967296);
}

TEST(CellCounts, CountsPastTheLanesInManySteps) {
  CellCounts counts;
  counts.grow_front(2);
  for (int step = 0; step < 5; ++step) {
    counts.make_room(3000000000);
    counts.lanes()[1][0] += 1000000000;
    counts.lanes()[1][1] += 2000000000;
  }
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 15000000000);
}

TEST(CellCounts, CountsMoreAtOnceThanLanesHold) {
  CellCounts counts;
  counts.grow_front(2);
  counts.make_room(7);
  counts.lanes()[0][1] += 7;
  counts.make_room(1000000000000);
  counts.add(0, 1000000000000);
  EXPECT_EQ(counts.at(0), 1000000000007);
  EXPECT_EQ(counts.at(1), 0);
  // The lanes take part again as soon as they are asked for.
  counts.make_room(kMostInLanes);
  counts.lanes()[0][0] += 4294967295U;
  EXPECT_EQ(counts.at(0), 1004294967302);
}

TEST(CellCounts, GrowsInFrontOfArchivedCounts) {
  CellCounts counts;
  counts.grow_front(1);
  counts.make_room(5000000000);
  counts.add(0, 5000000000);
  counts.make_room(2);
  counts.lanes()[0][1] += 2;
  counts.grow_front(2);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 0);
  EXPECT_EQ(counts.at(2), 5000000002);
  counts.make_room(6000000000);
  counts.add(0, 6000000000);
  EXPECT_EQ(counts.at(0), 6000000000);
  EXPECT_EQ(counts.at(2), 5000000002);
}

TEST(CellCounts, TakesTheWholeCountAndLeavesTheOthers) {
  CellCounts counts;
  counts.grow_front(2);
  counts.make_room(9);
  counts.lanes()[0] = {1, 2};
  counts.add(1, 6);
  EXPECT_EQ(counts.take(0), 3);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 6);
  EXPECT_EQ(counts.take(0), 0);
}

TEST(CellCounts, TakesWhatLanesAndArchiveHoldTogether) {
  CellCounts counts;
  counts.grow_front(2);
  counts.make_room(5000000010);
  counts.add(0, 5000000000);
  counts.add(1, 10);
  counts.make_room(3);
  counts.lanes()[0] = {1, 2};
  EXPECT_EQ(counts.take(0), 5000000003);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(1), 10);
  // What was taken can be counted elsewhere, as a histogram does that gets coarser.
  counts.add(1, 5000000003);
  EXPECT_EQ(counts.take(1), 5000000013);
}

}  // namespace
}  // namespace qtool
