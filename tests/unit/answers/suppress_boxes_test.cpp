#include "answers/suppress_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace qtool {
namespace {

TEST(IntersectionOverUnion, OfHandMadeBoxes) {
  const Box a{0, 0, 10, 10};
  EXPECT_DOUBLE_EQ(intersection_over_union(a, a), 1.0);
  EXPECT_DOUBLE_EQ(intersection_over_union(a, {5, 0, 15, 10}), 50.0 / 150.0);
  EXPECT_DOUBLE_EQ(intersection_over_union(a, {2, 2, 4, 4}), 0.04);
  EXPECT_DOUBLE_EQ(intersection_over_union(a, {10, 0, 20, 10}), 0.0);
  EXPECT_DOUBLE_EQ(intersection_over_union({1, 1, 1, 1}, {1, 1, 1, 1}), 0.0);
}

TEST(Suppress, DropsWhatABetterBoxOfTheClassCovers) {
  const std::vector<Box> boxes{{0, 0, 10, 10, 0, 0.9F},
                               {1, 0, 11, 10, 0, 0.8F},   // IoU 9/11 with the first
                               {1, 0, 11, 10, 1, 0.7F},   // another class
                               {5, 0, 15, 10, 0, 0.6F},   // IoU 1/3 with the first
                               {4, 0, 14, 10, 0, 0.5F}};  // IoU 9/11 with the box before
  EXPECT_THAT(suppress(boxes, 0.45), testing::ElementsAre(boxes[0], boxes[2], boxes[3]));
  // Only a box above the limit is dropped; a box at the limit stays.
  EXPECT_THAT(suppress(boxes, 1.0 / 3.0), testing::ElementsAre(boxes[0], boxes[2], boxes[3]));
  EXPECT_THAT(suppress(boxes, 0.3), testing::ElementsAre(boxes[0], boxes[2]));
  EXPECT_EQ(suppress(boxes, 1.0).size(), boxes.size());
}

}  // namespace
}  // namespace qtool
