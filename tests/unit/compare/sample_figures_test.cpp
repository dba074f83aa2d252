#include "compare/sample_figures.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare/intervals.h"

namespace qtool {
namespace {

EvalResult result_of_boxes(std::int64_t fp32, std::int64_t int8, std::int64_t kept) {
  EvalResult result;
  result.int8.emplace();
  result.answers.boxes.emplace();
  result.answers.boxes->matches = {
      {.score = 0.5, .iou = 0.5, .fp32 = fp32, .int8 = int8, .kept = kept}};
  return result;
}

TEST(SampleFigures, BoxesThatAreAllKeptMayBeLostInOtherImages) {
  SampleFigures figures;
  for (int i = 0; i < 10; ++i) figures.add({}, std::vector<BoxCounts>{{2, 2, 2}});
  EvalResult result = result_of_boxes(20, 20, 20);
  figures.write_intervals(result);
  const BoxMatch& match = result.answers.boxes->matches[0];
  EXPECT_EQ(match.kept_interval, wilson_interval(20, 20));
  EXPECT_EQ(match.added_interval, wilson_interval(0, 20));
}

TEST(SampleFigures, BoxesOfOneImageCountTogether) {
  SampleFigures figures;
  // In half of the images all boxes are lost.
  for (int i = 0; i < 10; ++i) {
    figures.add({}, std::vector<BoxCounts>{{20, 20, i % 2 == 0 ? 20 : 0}});
  }
  EvalResult result = result_of_boxes(200, 200, 100);
  figures.write_intervals(result);
  const Interval kept = result.answers.boxes->matches[0].kept_interval.value();
  EXPECT_LT(kept.low, 0.3);
  EXPECT_GT(kept.high, 0.7);
  const Interval boxes = wilson_interval(100, 200).value();
  EXPECT_GT(boxes.low, 0.4);
}

TEST(SampleFigures, MoreBoxesMayBeAddedThanFloatHas) {
  SampleFigures figures;
  for (int i = 0; i < 10; ++i) figures.add({}, std::vector<BoxCounts>{{1, 3 + i % 3, 1}});
  EvalResult result = result_of_boxes(10, 39, 10);
  figures.write_intervals(result);
  const Interval added = result.answers.boxes->matches[0].added_interval.value();
  EXPECT_LT(added.low, 2.9);
  EXPECT_GT(added.high, 2.9);
}

TEST(SampleFigures, OneImageHasNoInterval) {
  SampleFigures figures;
  figures.add({}, std::vector<BoxCounts>{{2, 2, 1}});
  EvalResult result = result_of_boxes(2, 2, 1);
  figures.write_intervals(result);
  EXPECT_FALSE(result.answers.boxes->matches[0].kept_interval.has_value());
}

}  // namespace
}  // namespace qtool
