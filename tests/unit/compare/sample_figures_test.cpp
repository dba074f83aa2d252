#include "compare/sample_figures.h"

#include <gtest/gtest.h>

#include <vector>

#include "compare/intervals.h"

namespace qtool {
namespace {

TEST(SampleFigures, OutputsHaveIntervalsOfTheirMeanAndOfTheirSums) {
  SampleFigures figures;
  std::vector<double> decibels;
  for (int i = 0; i < 8; ++i) {
    ComparedOutput output;
    output.sums = {1.0, i < 4 ? 0.1 : 0.001};
    output.error.sqnr_db = output.sums.decibels();
    decibels.push_back(output.error.sqnr_db);
    figures.add(std::vector<ComparedOutput>{output});
  }
  EvalResult result;
  result.outputs.resize(1);
  figures.write_intervals(result);
  EXPECT_EQ(result.outputs[0].sqnr_interval, mean_interval(decibels));
  // The mean of 10 and 30 dB is 20; their sums have 8 over 0.404, which are 13 dB.
  const Interval pooled = result.outputs[0].pooled_interval.value();
  EXPECT_LT(pooled.low, 13.0);
  EXPECT_GT(pooled.high, 13.0);
  EXPECT_LT(pooled.high, 20.0);
}

TEST(SampleFigures, Top1IsComparedImageByImage) {
  SampleFigures figures;
  std::vector<double> changes;
  for (int i = 0; i < 20; ++i) {
    const bool int8 = i % 5 != 0;
    figures.add_top1(true, int8);
    changes.push_back(int8 ? 0.0 : -1.0);
  }
  EvalResult result;
  result.int8.emplace();
  result.labelled = 20;
  figures.write_intervals(result);
  ASSERT_TRUE(result.top1_change_interval.has_value());
  EXPECT_EQ(result.top1_change_interval, paired_interval(changes));
}

TEST(SampleFigures, OneSampleHasNoInterval) {
  SampleFigures figures;
  figures.add(std::vector<ComparedOutput>(1));
  EvalResult result;
  result.outputs.resize(1);
  figures.write_intervals(result);
  EXPECT_FALSE(result.outputs[0].sqnr_interval.has_value());
}

}  // namespace
}  // namespace qtool
