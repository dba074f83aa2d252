#include "answers/class_scores.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace qtool {
namespace {

std::int64_t classes_in(const std::vector<Shape>& shapes, std::int64_t batch = 1) {
  std::vector<PortInfo> outputs;
  for (const Shape& shape : shapes) {
    outputs.push_back({"output", DType::kFloat32, shape});
  }
  return class_count(outputs, batch);
}

TEST(ClassCount, TakesOneVectorForEachImage) {
  EXPECT_EQ(classes_in({{1, 1000}}), 1000);
  EXPECT_EQ(classes_in({{1, 1000, 1, 1}}), 1000);
  EXPECT_EQ(classes_in({{1, 1, 1, 1000}}), 1000) << "channels last";
  EXPECT_EQ(classes_in({{1, 1, 1000}}), 1000);
  EXPECT_EQ(classes_in({{1, 400, 1, 1, 1}}), 400) << "of a video";
  EXPECT_EQ(classes_in({{8, 10}}, 8), 10);
}

TEST(ClassCount, TakesTheFirstOfSeveralHeads) {
  EXPECT_EQ(classes_in({{1, 7}, {1, 3}, {1, 2}}), 7);
  EXPECT_EQ(classes_in({{1, 1000}, {1, 2048, 7, 7}}), 1000) << "features beside the scores";
  EXPECT_EQ(classes_in({{1, 2}, {2, 1, 64}}), 2) << "a state beside the scores";
  EXPECT_EQ(classes_in({{1, 2}, {1, 2, 64}}), 2) << "a state of two rows";
  EXPECT_EQ(classes_in({{1, 20}, {1, 1, 20}}), 20);
}

// The outputs of blazeface_back_256: a score for each anchor of two grids, and boxes.
TEST(ClassCount, TakesNoRowsOfSingleScores) {
  EXPECT_EQ(classes_in({{1, 512, 1}, {1, 384, 1}, {1, 512, 16}, {1, 384, 16}}), 0);
  EXPECT_EQ(classes_in({{1, 512}, {1, 384}, {1, 512, 16}, {1, 384, 16}}), 0);
  EXPECT_EQ(classes_in({{1, 512, 1}}), 0);
  EXPECT_EQ(classes_in({{1, 100}, {1, 100}, {1, 100, 4}}), 0) << "scores, classes, boxes";
  EXPECT_EQ(classes_in({{1, 100}, {1, 4, 100}}), 0);
}

TEST(ClassCount, TakesNoMapsAndNoSingleNumbers) {
  EXPECT_EQ(classes_in({{1, 21, 8, 8}}), 0);
  EXPECT_EQ(classes_in({{1, 3549, 85}}), 0);
  EXPECT_EQ(classes_in({{1, 1, 8, 1}}), 0);
  EXPECT_EQ(classes_in({{1, 1}}), 0);
  EXPECT_EQ(classes_in({{5}}), 0);
  EXPECT_EQ(classes_in({{2, 10}}, 1), 0) << "another batch";
}

}  // namespace
}  // namespace qtool
