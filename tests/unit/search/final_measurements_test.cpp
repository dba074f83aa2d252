// The last part of a search: the models that were found are judged and timed.
#include "search/final_measurements.h"

#include <gtest/gtest.h>

#include "qtool/pipeline/calibrate.h"
#include "support/image_folder.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

class FinalMeasurementsTest : public testing::Test {
 protected:
  FinalMeasurementsTest() : fp32_(prepare(four_layers())), split_(hold_back(folder_.list())) {
    options_.goals = {{SearchGoal::Kind::kSqnr, 10.0}};
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.threads = 1;
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    calibrate_options.method = "minmax";
    base_.table = calibrate(fp32_, folder_.list(), calibrate_options).table;
    trial_options_.preprocess = options_.preprocess;
    trial_options_.threads = 1;
  }

  [[nodiscard]] FinalMeasurements found(Trials::Seconds once = {}) {
    return {fp32_, base_, split_, trials_, trial_options_, options_, once};
  }
  /// The result of judging the base model.
  [[nodiscard]] SearchResult judged() {
    SearchResult result;
    result.held_back = split_.held->size();
    found().judge(TriedModels(options_), 0, result);
    return result;
  }

  const ImageFolder folder_{kLayerSide, 15};
  Executor fp32_;
  SplitSamples split_;
  SearchOptions options_;
  StaticInputs base_;
  SuggestOptions trial_options_;
  Trials trials_{fp32_, base_, split_.rest, trial_options_};
};

TEST_F(FinalMeasurementsTest, JudgesBothParts) {
  const SearchResult result = judged();
  EXPECT_EQ(result.end, SearchEnd::kComplete);
  ASSERT_TRUE(result.searched && result.held_out);
  EXPECT_EQ(result.searched->best.images, 10);
  EXPECT_EQ(result.held_out->best.images, 5);
  EXPECT_TRUE(result.contents_compared);
  EXPECT_EQ(result.held_calibrated, 5);
  EXPECT_EQ(result.overlap, (Overlap{"image", 15, 15}));
  EXPECT_FALSE(result.learned);
}

// Such a search said that nothing was left to try, and its kept results were removed.
TEST_F(FinalMeasurementsTest, IsNotCompleteWithoutAJudgement) {
  trial_options_.stop = [] { return true; };
  trial_options_.progress = [](std::int64_t, std::int64_t) { return ProgressAnswer::kStop; };
  const SearchResult result = judged();
  EXPECT_FALSE(result.searched || result.held_out);
  EXPECT_FALSE(result.contents_compared);
  EXPECT_EQ(result.end, SearchEnd::kBudget);
}

// Where photographs are large, reading them takes longer than the network does.
TEST_F(FinalMeasurementsTest, CountsTheTimeOfReadingImages) {
  const Trials::Seconds once{.fp32 = 0.1, .int8 = 0.1, .make = 0.0, .read = 1.0};
  EXPECT_GE(found(once).least_seconds(), 2.0 * 15.0 * 1.2);
  FinalMeasurements models = found();
  models.first_took(20.0);  // for ten images, whatever the first one took
  EXPECT_GE(models.least_seconds(), 2.0 * 20.0 * 1.5);
}

}  // namespace
}  // namespace qtool
