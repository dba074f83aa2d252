#include "report/first_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyze/accuracy_limits.h"
#include "report/samples.h"
#include "report/shell.h"
#include "unit/first_models.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Advise, UsesAModelThatAnswersAsItsNetwork) {
  EXPECT_EQ(advice_on(good_model()).step, NextStep::kUse);
  EXPECT_EQ(advice_on(without_classes(20.0)).step, NextStep::kUse);
}

TEST(Advise, SaysThatImagesWereNotHeldOut) {
  FirstModel made = good_model();
  EXPECT_EQ(advice_on(made).why, "no figure is below its limit");
  made.compared.overlap->common = 20;
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kUse);
  EXPECT_EQ(advice.why,
            "no figure is below its limit, but 20 of the 1000 images to compare on also set the "
            "ranges");
}

TEST(Advise, IgnoresTheNoiseOfPositions) {
  FirstModel made = without_classes(40.0);
  made.compared.outputs.push_back(noisy_output("best", 2.0));
  made.compared.outputs.back().dtype = DType::kInt64;
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
}

TEST(Advise, AsksForThePreprocessingBeforeAnythingElse) {
  FirstModel made = without_classes(3.0);
  made.calibrated_on = 2;
  made.compared.near_chance = true;
  made.preprocess->assumed = "mean, std";
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kNamePreprocessing);
  EXPECT_THAT(advice.why, HasSubstr("mean, std"));
  made.preprocess->assumed.clear();
  EXPECT_EQ(advice_on(made).step, NextStep::kCheckSamples);
  made.compared.near_chance = false;
  EXPECT_EQ(advice_on(made).step, NextStep::kAddSamples);
  made.calibrated_on = 16;
  EXPECT_EQ(advice_on(made).step, NextStep::kKeepNodes);
}

TEST(Advise, AsksForASingleFieldByItsOptionAndStillJudges) {
  FirstModel made = good_model();
  made.preprocess->assumed = "channels";
  Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kUse);
  EXPECT_EQ(advice.why,
            "no figure is below its limit; nothing says the channels of the images, and another "
            "may be right: give --channels");
  made.compared.agreement = 500;
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kKeepNodes);
  EXPECT_THAT(advice.why, HasSubstr("INT8 answers with FP32's class for 50.00 %"));
  EXPECT_THAT(advice.why, HasSubstr("give --channels"));
}

TEST(Advise, AsksForThePreprocessingThatIsUsualForTheDetector) {
  FirstModel made = good_model();
  const auto text = [&](const char* assumed) {
    made.preprocess->assumed = assumed;
    return text_of(made, advice_on(made), {{"qtool", "help", "presets"}}, 80);
  };
  EXPECT_THAT(text("mean, std"), HasSubstr("with --preprocess and a preset or a JSON file"));
  made.usual_for = "yolox";
  EXPECT_THAT(text("resize, channels, mean, std"), HasSubstr("Begin again with --preprocess as"));
}

TEST(FirstModelText, ProposesASingleUsualFieldBesideTheNextStep) {
  FirstModel made = good_model();
  made.preprocess->assumed = "channels";
  const auto text = [&] { return text_of(made, advice_on(made), {{"qtool", "infer"}}, 80); };
  EXPECT_THAT(text(), testing::Not(HasSubstr("is usual")));
  made.usual_for = "yolox";
  made.usual_options = {"--channels", "bgr"};
  made.usual_command = {"qtool", "auto", "m.onnx", "--channels", "bgr"};
  const std::string proposal =
      "    qtool infer\nFor yolox, --channels bgr is usual:\n"
      "    qtool auto m.onnx --channels bgr\n";
  EXPECT_THAT(text(), testing::EndsWith(proposal));
  made.compared.agreement = 500;  // whatever the next step is
  EXPECT_THAT(text(), testing::EndsWith(proposal));
  const auto json = nlohmann::json::parse(json_of(made, advice_on(made), {}));
  EXPECT_EQ(json["next"]["usual"]["detector"], "yolox");
  EXPECT_EQ(json["next"]["usual"]["options"], made.usual_options);
  EXPECT_EQ(json["next"]["usual"]["command"], made.usual_command);
  // The next step is this command already.
  made.preprocess->assumed = "mean, std";
  EXPECT_THAT(text(), testing::Not(HasSubstr("For yolox")));
  EXPECT_FALSE(nlohmann::json::parse(json_of(made, advice_on(made), {}))["next"].contains("usual"));
}

TEST(Advise, JudgesByTheWorstOutputWhereThereAreNoClasses) {
  const Advice advice = advice_on(without_classes(19.9));
  EXPECT_EQ(advice.step, NextStep::kKeepNodes);
  EXPECT_EQ(advice.why, "output 'b' has a pooled SQNR of 19.90 dB against FP32");
  EXPECT_THAT(advice.goal, ElementsAre("--min-sqnr", "20"));
}

// The map of a text detector is almost zero for images without text.
TEST(Advise, GoesByThePooledFigureWhereSingleImagesAreNearZero) {
  FirstModel made = without_classes(24.0);
  made.compared.outputs.back().sqnr_db = -15.8;
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
}

TEST(Advise, NamesTheTargetThatTakesFunctionsInBeforeASearch) {
  FirstModel made = without_classes(19.9);
  made.functions_left = 52;
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kOtherTarget);
  EXPECT_THAT(advice.why, HasSubstr("19.90 dB against FP32; 52 functions such as SiLU"));
  made = good_model();
  made.functions_left = 52;
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
}

TEST(FirstModelText, SaysBesideTheOtherTargetWhatIsKnownOfAnotherRuntime) {
  FirstModel made = without_classes(19.9);
  made.functions_left = 52;
  const auto text = [&] { return text_of(made, advice_on(made), {{"qtool", "auto"}}, 80); };
  EXPECT_THAT(
      text(),
      HasSubstr("slower than with target cpu; --also-time onnxruntime measures it. Where that is "
                "not enough, it searches what must stay in FP32 or in 16 bits:\n"
                "    qtool auto\n"));
  made.times = {
      {"qtool", 2, 15, 1, {{0.015, 0.014, 0.016}, {0.005, 0.004, 0.006}}},
      {"ONNX Runtime 9.9 (node)", 2, 15, 1, {{0.0227, 0.0220, 0.0230}, {0.0191, 0.0190, 0.0200}}}};
  EXPECT_THAT(text(), HasSubstr("INT8: 19.100 ms (95 %: 19.000 to 20.000)\n"
                                "speed-up in ONNX Runtime 9.9 (node): 1.19x\n\nfiles:"));
  EXPECT_THAT(
      text(),
      HasSubstr("slower than with target cpu. Measured now, with target cpu, in ONNX Runtime "
                "9.9 (node): FP32 22.700 ms, INT8 19.100 ms. Where that is not enough, "));
  const auto json = nlohmann::json::parse(json_of(made, advice_on(made), {}));
  EXPECT_EQ(json["eval"]["times"].size(), 2);
}

TEST(Advise, JudgesAClassifierByItsAnswers) {
  FirstModel made = good_model();
  made.compared.agreement = 930;
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kKeepNodes);
  EXPECT_EQ(advice.why,
            "INT8 answers with FP32's class for 93.00 % (91.2 to 94.4 %) of the images");
  EXPECT_THAT(advice.goal, ElementsAre("--min-agreement", "95"));
}

// A figure of few images is neither good nor bad, whatever it is.
TEST(Advise, SaysHowManyImagesWouldDecide) {
  FirstModel made = good_model();
  made.compared.images = 20;
  made.compared.agreement = 17;
  Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kKeepNodes) << "94.8 % at most";
  EXPECT_TRUE(advice.is_missed);
  made.compared.agreement = 18;
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kCompareMore);
  EXPECT_TRUE(advice.is_missed);
  EXPECT_GT(advice.samples, 20);
  made.compared.agreement = 20;
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kCompareMore);
  EXPECT_EQ(advice.samples, 73);
  EXPECT_FALSE(advice.is_missed) << "only the interval is below the limit";
  EXPECT_THAT(text_of(made, advice, {{"qtool", "eval"}}, 80),
              HasSubstr("These are too few to tell whether it is good enough: compare on about 73 "
                        "images of the same kind:"));
  made.all_compared = true;
  EXPECT_THAT(
      text_of(made, advice, {}, 80),
      HasSubstr("compare on about 73 images of the same kind, more than are given here.\n"));
  EXPECT_THAT(json_of(made, advice, {}), HasSubstr("\"samples\": 73"));
  made = without_classes(21.0);
  made.compared.outputs.back().pooled_interval = Interval{19.0, 22.0};
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kCompareMore);
  EXPECT_EQ(advice.why, "output 'b' has a pooled SQNR of 21.00 dB against FP32 (19.00 to 22.00)");
  EXPECT_EQ(advice.samples, 4000) << "half of the width takes four times the images";
  made.compared.outputs.back().pooled_interval = Interval{20.5, 22.0};
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
}

TEST(Advise, DoesNotTakeOneOfSeveralOutputsForClassesWithoutLabels) {
  FirstModel made = good_model();
  made.compared.outputs.push_back(noisy_output("boxes", 30.0));
  made.compared.agreement = 250;
  EXPECT_EQ(advice_on(made).step, NextStep::kKeepNodes);
  EXPECT_THAT(advice_on(made).goal, ElementsAre("--min-sqnr", "20"));
  made.compared.labelled = 1000;
  EXPECT_THAT(advice_on(made).goal, ElementsAre("--min-agreement", "95"));
}

TEST(Advise, CountsOnlyALossOfTop1ThatChanceDoesNotExplain) {
  FirstModel made = good_model();
  made.compared.labelled = 1000;
  made.compared.fp32.top1 = 800;
  made.compared.int8->top1 = 787;
  made.compared.top1_change_interval = Interval{-0.027, 0.001};
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
  made.compared.top1_change_interval = Interval{-0.024, -0.002};
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.why, "top-1 falls from 80.00 % to 78.70 %");
  EXPECT_THAT(advice.goal, ElementsAre("--max-top1-drop", "1"));
  EXPECT_EQ(search_goal(advice, true), advice.goal);
  EXPECT_THAT(search_goal(advice, false), ElementsAre("--min-agreement", "95"));
}

// Both are undecided. The boxes that are added miss their limit, those that are kept do not.
TEST(Advise, GoesByTheUndecidedFigureThatMissesItsLimit) {
  FirstModel made = without_classes(30.0);
  made.compared.answers.boxes = BoxAgreement{};
  BoxMatch& match = made.compared.answers.boxes->matches.emplace_back();
  match = {.score = 0.5, .iou = 0.5, .fp32 = 100, .int8 = 103, .kept = 96};
  match.kept_interval = Interval{0.93, 0.98};
  match.added_interval = Interval{0.04, 0.10};
  EXPECT_EQ(advice_on(made).step, NextStep::kCompareMore);
  EXPECT_TRUE(advice_on(made).is_missed);
  match.int8 = 99;  // 3 % are added
  match.added_interval = Interval{0.01, 0.06};
  EXPECT_EQ(advice_on(made).step, NextStep::kCompareMore);
  EXPECT_FALSE(advice_on(made).is_missed);
  made.compared.answers.boxes.reset();
  MaskAgreement& mask = made.compared.answers.mask.emplace();
  mask = {50, 1000, 960, {{0, 990, 980, 970}, {1, 10, 20, 10}}};  // a mean IoU of 0.735
  mask.equal_interval = Interval{0.93, 0.98};
  mask.mean_iou_interval = Interval{0.5, 0.95};
  EXPECT_EQ(advice_on(made).step, NextStep::kCompareMore);
  EXPECT_TRUE(advice_on(made).is_missed);
}

TEST(Advise, JudgesADetectorByItsBoxesAndAMapByItsPixels) {
  FirstModel made = without_classes(3.0);
  made.compared.answers.boxes = BoxAgreement{};
  made.compared.answers.boxes->matches = {
      {.score = 0.5, .iou = 0.5, .fp32 = 100, .int8 = 97, .kept = 96}};
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
  made.compared.answers.boxes->matches.front().int8 = 120;
  EXPECT_EQ(advice_on(made).why, "INT8 keeps 96.0 % of FP32's boxes and adds 24.0 % (at IoU 0.5)");
  // The search for its goal judges at the highest IoU too.
  made.compared.answers.boxes->matches = {
      {.score = 0.5, .iou = 0.5, .fp32 = 100, .int8 = 97, .kept = 96},
      {.score = 0.5, .iou = 0.7, .fp32 = 100, .int8 = 97, .kept = 90},
      {.score = 0.8, .iou = 0.7, .fp32 = 50, .int8 = 50, .kept = 50}};
  EXPECT_EQ(advice_on(made).why, "INT8 keeps 90.0 % of FP32's boxes and adds 7.0 % (at IoU 0.7)");
  made.compared.answers = {};
  made.compared.answers.mask =
      MaskAgreement{.images = 1, .pixels = 100, .equal = 94, .classes = {}};
  EXPECT_EQ(advice_on(made).why, "94.0 % of the pixels keep FP32's class");
  // Few pixels are of class 1, and half of them are lost.
  made.compared.answers.mask->equal = 99;
  made.compared.answers.mask->classes = {{.label = 0, .fp32 = 98, .int8 = 99, .both = 98},
                                         {.label = 1, .fp32 = 2, .int8 = 1, .both = 1}};
  const Advice advice = advice_on(made);
  EXPECT_EQ(advice.why, "the mean IoU of the classes is 74.5 %");
  EXPECT_THAT(advice.goal, ElementsAre("--min-sqnr", "20"));
}

// The pixels of a few images say little about those of other images.
TEST(Advise, AsksForMoreImagesOfAMap) {
  FirstModel made = without_classes(3.0);
  made.compared.images = 10;
  MaskAgreement& mask = made.compared.answers.mask.emplace();
  mask = {.images = 10, .pixels = 1000, .equal = 970, .classes = {{0, 1000, 970, 970}}};
  mask.equal_interval = Interval{0.93, 0.99};
  mask.mean_iou_interval = Interval{0.94, 0.98};
  Advice advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kCompareMore);
  EXPECT_EQ(advice.why, "97.0 % (93.0 to 99.0 %) of the pixels keep FP32's class");
  EXPECT_THAT(advice.goal, ElementsAre("--min-agreement", "95"));
  EXPECT_EQ(advice.samples, 40);  // the interval must be half as wide
  mask.equal_interval = Interval{0.96, 0.98};
  EXPECT_EQ(advice_on(made).step, NextStep::kUse);
  mask.mean_iou_interval = Interval{0.89, 0.98};
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kCompareMore);
  EXPECT_EQ(advice.why, "the mean IoU of the classes is 97.0 % (89.0 to 98.0 %)");
  EXPECT_THAT(advice.goal, ElementsAre("--min-sqnr", "20"));
  // What is surely bad comes before what is doubtful.
  mask.equal_interval = Interval{0.93, 0.99};
  mask.mean_iou_interval = Interval{0.7, 0.88};
  advice = advice_on(made);
  EXPECT_EQ(advice.step, NextStep::kKeepNodes);
  EXPECT_THAT(advice.why, HasSubstr("the mean IoU"));
  mask.equal_interval = Interval{0.9, 0.94};
  EXPECT_THAT(advice_on(made).why, HasSubstr("of the pixels keep"));
}

// Two images without a mistake, or with many, say nothing about others.
TEST(Advise, DecidesNothingByTooFewImagesForAnInterval) {
  FirstModel made = without_classes(3.0);
  made.compared.images = 2;
  MaskAgreement& mask = made.compared.answers.mask.emplace();
  for (const std::int64_t equal : {1000, 500}) {
    mask = {.images = 2, .pixels = 1000, .equal = equal, .classes = {{0, 1000, equal, equal}}};
    const Advice advice = advice_on(made);
    EXPECT_EQ(advice.step, NextStep::kCompareMore) << equal;
    EXPECT_EQ(advice.samples, 16) << equal;
  }
  made.compared.answers = {};
  EXPECT_EQ(advice_on(made).step, NextStep::kCompareMore) << "by decibels";
  made.compared.images = 6;
  EXPECT_EQ(advice_on(made).step, NextStep::kKeepNodes) << "without intervals for another reason";
  made.compared.images = 2;
  made.compared.answers.boxes.emplace().matches = {
      {.score = 0.5, .iou = 0.7, .fp32 = 100, .int8 = 100, .kept = 100}};
  EXPECT_EQ(advice_on(made).step, NextStep::kCompareMore);
}

TEST(Advise, SaysFirstThatFloatFindsNothing) {
  FirstModel made = without_classes(3.0);
  made.calibrated_on = 2;
  made.preprocess->assumed = "channels";
  made.compared.answers.boxes = BoxAgreement{};
  made.compared.answers.boxes->matches = {{.score = 0.25, .iou = 0.5}, {.score = 0.25, .iou = 0.7}};
  for (const std::int64_t int8 : {0, 3}) {
    made.compared.answers.boxes->matches.front().int8 = int8;
    const Advice advice = advice_on(made);
    EXPECT_EQ(advice.step, NextStep::kFindObjects);
    EXPECT_THAT(advice.why,
                HasSubstr("FP32 finds no box of score 0.25 or more in any of 1000 images, "
                          "so that nothing was compared; nothing says how"));
    EXPECT_THAT(text_of(made, advice, {{"qtool", "infer"}}, 80), HasSubstr("Correct --boxes or"));
    made.usual_for = "yolov8";
    EXPECT_THAT(text_of(made, advice, {{"qtool", "auto"}}, 80),
                HasSubstr("Begin again with --channels as the network was trained; for yolov8"));
    made.usual_for.clear();
  }
}

TEST(Advise, PointsAtNodesInFloatOnlyOnceTheAnswersAreRight) {
  FirstModel made = good_model();
  made.quantized.coverage.integer_macs = 4;
  EXPECT_EQ(advice_on(made).step, NextStep::kInspect);
}

TEST(FirstModelText, ShowsCommandsAsAShellTakesThem) {
  FirstModel made = good_model();
  made.commands = {{"qtool", "eval", "it's.onnx"}};
  const Advice advice = advice_on(made);
  const std::vector<CommandWords> next = {{"qtool", "infer", "a b"}};
  const std::string text = text_of(made, advice, next);
  EXPECT_THAT(text, HasSubstr("calibrated on 100 images, compared on 1000 others\n"));
  EXPECT_THAT(text, HasSubstr("\n    qtool eval 'it'\\''s.onnx'\nnext: "));
  EXPECT_THAT(text, HasSubstr("\n    qtool infer 'a b'\n"));
  const auto json = nlohmann::json::parse(json_of(made, advice, next));
  EXPECT_EQ(json["commands"], nlohmann::json({{"qtool", "eval", "it's.onnx"}}));
  EXPECT_EQ(json["next"]["step"], "use");
  EXPECT_EQ(json["eval"]["agreement"], 0.97);
}

TEST(FirstModelText, CallsImagesHeldOutOnlyIfNoneOfThemSetTheRanges) {
  FirstModel made = good_model();
  const auto text = [&] { return text_of(made, advice_on(made), {}); };
  const auto json = [&] { return nlohmann::json::parse(json_of(made, advice_on(made), {})); };
  EXPECT_EQ(json()["held_out"], true);
  EXPECT_EQ(json()["overlap"], 0);
  EXPECT_EQ(json()["eval"]["overlap"], 0);
  made.compared.overlap->common = 3;
  EXPECT_THAT(text(),
              HasSubstr("compared on 1000, of which 3 also set the ranges: not held out\n"));
  EXPECT_EQ(json()["held_out"], false);
  EXPECT_EQ(json()["overlap"], 3);
  made.compared.overlap.reset();
  EXPECT_THAT(text(), HasSubstr("compared on 1000, which may also have set the ranges\n"));
  EXPECT_EQ(json()["held_out"], false);
  EXPECT_EQ(json()["overlap"], nullptr);
  made.too_few = true;
  EXPECT_THAT(text(), HasSubstr("compared on the same: there are too few to hold some out\n"));
}

TEST(OverlapLine, CountsTheSamplesThatSetTheRanges) {
  EXPECT_EQ(overlap_line(std::nullopt, ": not held out"), "");
  EXPECT_EQ(overlap_line(Overlap{"image", 20, 0}, ": not held out"),
            "none of 20 images set the ranges\n");
  EXPECT_EQ(overlap_line(Overlap{"image", 20, 20}, ": not held out"),
            "20 of 20 images also set the ranges: not held out\n");
  EXPECT_EQ(overlap_line(Overlap{"sample", 1, 1}), "1 of 1 sample also set the ranges\n");
}

TEST(ShellLine, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_word("a/b-c.onnx"), "a/b-c.onnx");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$(x) *"), "'$(x) *'");
  const std::vector<std::string> words = {"a", "b'c"};
  EXPECT_EQ(shell_line(words), "a 'b'\\''c'");
}

}  // namespace
}  // namespace qtool
