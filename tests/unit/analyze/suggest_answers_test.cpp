// The boxes and the pixels that changed models keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "report/suggestions.h"
#include "support/image_folder.h"
#include "unit/changed_inputs.h"
#include "unit/four_layers.h"

namespace qtool {
namespace {

using testing::HasSubstr;

/// Four layers, one of which has a range that is far too wide. Their output is read as boxes or as
/// a mask.
class SuggestAnswersTest : public testing::Test {
 protected:
  SuggestAnswersTest() : fp32_(prepare(four_layers())) {
    options_.preprocess.mean = {127.5F};
    options_.preprocess.std = {64.0F};
    options_.repeat = 5;
    options_.sources = 3;
    CalibrateOptions calibrate_options;
    calibrate_options.collect.preprocess = options_.preprocess;
    calibrate_options.method = "minmax";
    base_.table = calibrate(fp32_, folder_.list(), calibrate_options).table;
    for (ActivationEntry& one : base_.table.activations) {
      if (one.tensor == "b_relu_out") one.affine.scale *= 40.0F;
    }
  }

  [[nodiscard]] SuggestResult suggestions() const {
    const Executor int8(prepare(quantize(fp32_.graph(), base_).graph));
    const AnalyzeResult analysis = analyze(fp32_, int8, folder_.list(), options_);
    return suggest(fp32_, base_, analysis, folder_.list(), options_);
  }
  /// What eval says of the model with a change.
  [[nodiscard]] AnswerAgreement evaluated(const Change& change) const {
    const StaticInputs changed = changed_inputs(base_, change);
    const Executor int8(prepare(quantize(fp32_.graph(), changed).graph));
    EvalOptions eval;
    eval.preprocess = options_.preprocess;
    eval.answers = options_.answers;
    return evaluate(fp32_, &int8, folder_.list(), eval).answers;
  }
  /// A box in each of the 64 pixels of the output, with sides of 0.5 to 1 pixel.
  static Detector box_in_each_pixel() {
    Detector detector;
    detector.name = "pixels";
    detector.boxes.axis = detector.scores.axis = ChannelAxis::kFirst;
    detector.position = detector.size = {BoxFunction::kSigmoid, BoxUnit::kPixels};
    detector.first_class_channel = 3;
    detector.class_function = BoxFunction::kSigmoid;
    detector.grid = {{.stride = 1}};
    return detector;
  }
  static void expect_boxes_of_eval(const KeptAnswers& kept, const AnswerAgreement& evaluated) {
    const BoxMatch expected = evaluated.judged_boxes().value();
    ASSERT_TRUE(kept.boxes.has_value());
    EXPECT_EQ(kept.boxes->fp32, expected.fp32);
    EXPECT_EQ(kept.boxes->int8, expected.int8);
    EXPECT_EQ(kept.boxes->kept, expected.kept);
    ASSERT_TRUE(expected.kept_interval.has_value());
    EXPECT_EQ(kept.boxes->kept_interval, expected.kept_interval);
    EXPECT_EQ(kept.boxes->added_interval, expected.added_interval);
  }
  static void expect_pixels_of_eval(const KeptAnswers& kept, const AnswerAgreement& evaluated) {
    const MaskAgreement& expected = evaluated.mask.value();
    ASSERT_TRUE(kept.pixels.has_value());
    EXPECT_DOUBLE_EQ(kept.pixels->value,
                     static_cast<double>(expected.equal) / static_cast<double>(expected.pixels));
    ASSERT_TRUE(kept.mean_iou.has_value());
    EXPECT_DOUBLE_EQ(kept.mean_iou->value, expected.mean_iou().value());
    for (const AnswerShare& share : {*kept.pixels, *kept.mean_iou}) {
      ASSERT_TRUE(share.interval.has_value());
      EXPECT_LE(share.interval->low, share.value);
      EXPECT_GE(share.interval->high, share.value);
    }
  }

  const ImageFolder folder_{kLayerSide, 6};
  Executor fp32_;
  SuggestOptions options_;
  StaticInputs base_;
};

TEST_F(SuggestAnswersTest, SaysTheBoxesThatEvalCounts) {
  options_.answers.boxes = box_in_each_pixel();
  const SuggestResult result = suggestions();
  expect_boxes_of_eval(result.answers, evaluated({}));
  EXPECT_GT(result.answers.boxes->fp32, 0);
  EXPECT_LT(result.answers.boxes->kept, result.answers.boxes->fp32);
  ASSERT_FALSE(result.suggestions.empty());
  for (const Suggestion& one : result.suggestions) {
    expect_boxes_of_eval(one.answers, evaluated(one.change));
    EXPECT_FALSE(one.answers.pixels.has_value());
    EXPECT_FALSE(one.answers.classes.has_value());
  }
  EXPECT_GT(result.suggestions.front().answers.boxes->kept, result.answers.boxes->kept);
  EXPECT_THAT(text_of(result), HasSubstr("\n  boxes kept "));
}

TEST_F(SuggestAnswersTest, SaysThePixelsThatEvalCounts) {
  options_.answers.mask = MaskRule{};
  const SuggestResult result = suggestions();
  expect_pixels_of_eval(result.answers, evaluated({}));
  EXPECT_LT(result.answers.pixels->value, 0.97);
  ASSERT_FALSE(result.suggestions.empty());
  for (const Suggestion& one : result.suggestions) {
    expect_pixels_of_eval(one.answers, evaluated(one.change));
    EXPECT_FALSE(one.answers.boxes.has_value());
  }
  EXPECT_THAT(text_of(result), HasSubstr("\n  pixels kept "));
}

TEST_F(SuggestAnswersTest, SaysNothingOfAnswersThatNothingNames) {
  const SuggestResult result = suggestions();
  ASSERT_FALSE(result.suggestions.empty());
  EXPECT_EQ(answers_text(result.answers, result.suggestions.front().answers), "");
}

TEST_F(SuggestAnswersTest, DoesNotDependOnThreads) {
  options_.answers.boxes = box_in_each_pixel();
  options_.answers.mask = MaskRule{};
  options_.threads = 1;
  const SuggestResult one = suggestions();
  options_.threads = 3;
  const SuggestResult three = suggestions();
  ASSERT_EQ(one.suggestions.size(), three.suggestions.size());
  for (std::size_t i = 0; i < one.suggestions.size(); ++i) {
    EXPECT_EQ(answers_text(one.answers, one.suggestions[i].answers),
              answers_text(three.answers, three.suggestions[i].answers));
  }
}

}  // namespace
}  // namespace qtool
