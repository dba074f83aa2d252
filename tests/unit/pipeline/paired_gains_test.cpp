// By how much one INT8 model is nearer to FP32 than another.
#include "pipeline/paired_gains.h"

#include <gtest/gtest.h>

#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/pipeline/make_model.h"
#include "support/image_folder.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

class PairedGainsOfBits : public testing::Test {
 protected:
  [[nodiscard]] Graph with_bits(int bits) const {
    Recipe recipe;
    recipe.method = "minmax";
    recipe.types.weight_bits = bits;
    return make_model(fp32_, recipe, folder_.list(), {}).int8.graph;
  }
  [[nodiscard]] std::vector<MeanGain> gains(const Graph& before, const Graph& after,
                                            int threads = 1, std::int64_t views = 1) const {
    SampleRunOptions run;
    run.threads = threads;
    PairedGains trial(fp32_, before, after, folder_.list(), run);
    const Samples samples = folder_.list();
    trial.add(samples.part(0, 2), "test", views);
    trial.add(samples.part(1, 2), "test", views);
    EXPECT_EQ(trial.samples(), 8);
    return mean_gains(trial.by_sample());
  }

  ImageFolder folder_{kLayerSide, 8};
  Executor fp32_{prepare(four_layers())};
};

TEST_F(PairedGainsOfBits, FinerWeightsGain) {
  const Graph coarse = with_bits(4);
  const Graph fine = with_bits(8);
  const std::vector<MeanGain> better = gains(coarse, fine);
  ASSERT_EQ(better.size(), 1U);
  EXPECT_EQ(better[0].decibels, PairedGains::kMostOfSampleDb);  // more, but no sample counts more
  EXPECT_TRUE(is_clear_gain(better, 0.1));
  const std::vector<MeanGain> worse = gains(fine, coarse);
  EXPECT_EQ(worse[0].decibels, -better[0].decibels);
  EXPECT_FALSE(is_clear_gain(worse, 0.1));
  const std::vector<MeanGain> same = gains(fine, fine);
  EXPECT_EQ(same[0].decibels, 0.0);
  EXPECT_FALSE(is_clear_gain(same, 0.1));
}

TEST_F(PairedGainsOfBits, DoNotDependOnThreads) {
  const Graph before = with_bits(7);
  const Graph after = with_bits(8);
  const std::vector<MeanGain> one = gains(before, after);
  const std::vector<MeanGain> three = gains(before, after, 3);
  ASSERT_TRUE(one[0].interval && three[0].interval);
  EXPECT_EQ(one[0].decibels, three[0].decibels);
  EXPECT_EQ(one[0].interval->low, three[0].interval->low);
  EXPECT_EQ(one[0].interval->high, three[0].interval->high);
}

// The views of an image count as one sample, and more than a few are not made.
TEST_F(PairedGainsOfBits, MovedImagesAddToTheirSample) {
  const Graph before = with_bits(7);
  const Graph after = with_bits(8);
  const double one = gains(before, after)[0].decibels;
  const double four = gains(before, after, 1, PairedGains::kMostViews)[0].decibels;
  EXPECT_NE(one, four);
  EXPECT_NEAR(one, four, 2.0);
  EXPECT_EQ(gains(before, after, 1, 100)[0].decibels, four);
}

TEST(IsClearGain, NeedsOneOutputThatGainsAndNoneThatLoses) {
  const MeanGain clear{0.5, Interval{0.2, 0.8}};
  const MeanGain unclear{0.5, Interval{-0.1, 1.1}};
  const MeanGain unknown{3.0, std::nullopt};
  const MeanGain near{-0.05, Interval{-0.3, 0.2}};
  const MeanGain lost{-0.2, Interval{-0.6, 0.2}};
  EXPECT_TRUE(is_clear_gain(std::vector{clear}, 0.1));
  EXPECT_TRUE(is_clear_gain(std::vector{near, clear, unclear}, 0.1));
  EXPECT_FALSE(is_clear_gain(std::vector{clear, lost}, 0.1));
  EXPECT_FALSE(is_clear_gain(std::vector{unclear}, 0.1));
  EXPECT_FALSE(is_clear_gain(std::vector{unknown}, 0.1));  // too few samples
  EXPECT_FALSE(is_clear_gain({}, 0.1));
  const MeanGain surely_lost{-0.05, Interval{-0.08, -0.02}};
  EXPECT_FALSE(is_clear_gain(std::vector{clear, surely_lost}, 0.1));
  EXPECT_TRUE(is_loss(std::vector{clear, surely_lost}, 0.1));
  EXPECT_FALSE(is_loss(std::vector{near, unknown}, 0.1));
}

}  // namespace
}  // namespace qtool
