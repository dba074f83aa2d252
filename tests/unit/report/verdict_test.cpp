#include "report/page/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/first_model.h"

namespace qtool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

OutputError judged_output(const char* name, double pooled_db) {
  OutputError error;
  error.name = name;
  error.sqnr_db = error.pooled_sqnr_db = pooled_db;
  return error;
}

// A network without classes on 50 images, whose ranges come from 100 others.
EvalResult compared_on_others() {
  EvalResult compared;
  compared.images = 50;
  compared.int8 = ModelScore{};
  compared.outputs = {judged_output("a", 40.0), judged_output("map", 24.0)};
  compared.overlap = Overlap{"image", 50, 0};
  return compared;
}

Advice advice_for(const EvalResult& compared) {
  return advise({.calibrated_on = 100, .integer_share = 1.0, .compared = compared});
}

Verdict verdict_on(const EvalResult& compared, const SuggestResult* tried = nullptr,
                   const std::vector<CommandWords>& commands = {}) {
  MakingCommands making;
  making.quantize = {"qtool", "quantize", "m.onnx", "--output", "m.int8.onnx"};
  return verdict_of(advice_for(compared), compared, tried, making, commands);
}

// The map of a text detector is almost zero for images without text.
TEST(Verdict, PrintsTheFigureThatIsJudged) {
  EvalResult compared = compared_on_others();
  compared.outputs.back().sqnr_db = -15.8;
  compared.outputs.back().pooled_interval = Interval{22.0, 26.0};
  const Verdict verdict = verdict_on(compared);
  EXPECT_EQ(verdict.name, "use");
  EXPECT_EQ(verdict.figure,
            "output 'map' has a pooled SQNR of 24.00 dB against FP32 (95 % confidence: 22.00 to "
            "26.00), on 50 images");
}

TEST(Verdict, PrintsTheIntervalsOfPixels) {
  EvalResult compared = compared_on_others();
  MaskAgreement& mask = compared.answers.mask.emplace();
  mask = {.images = 50, .pixels = 1000, .equal = 970, .classes = {{0, 1000, 970, 970}}};
  mask.equal_interval = Interval{0.96, 0.98};
  mask.mean_iou_interval = Interval{0.95, 0.99};
  const Verdict verdict = verdict_on(compared);
  EXPECT_EQ(verdict.name, "use");
  EXPECT_EQ(verdict.figure,
            "97.0 % of the pixels keep FP32's class (95 % confidence: 96.0 to 98.0 %), mean IoU "
            "97.0 % (95 % confidence: 95.0 to 99.0 %), on 50 images");
}

// A model of 12 dB, and one change of it.
SuggestResult one_change() {
  SuggestResult tried;
  tried.sqnr_db = 12.0;
  tried.suggestions.push_back({.change = {.exclude = {"c0"}}, .sqnr_db = 21.0, .gain_db = 9.0});
  return tried;
}

TEST(Verdict, RecommendsAChangeWhoseWholeIntervalReachesTheLimit) {
  EvalResult compared = compared_on_others();
  compared.outputs.back().pooled_sqnr_db = 12.0;
  SuggestResult tried = one_change();
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  tried.suggestions.front().worst_interval_db = Interval{19.9, 22.1};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  tried.suggestions.front().worst_interval_db = Interval{20.1, 21.9};
  EXPECT_EQ(verdict_on(compared, &tried).name, "use_changed");
}

TEST(Verdict, RecommendsAChangeOfAClassifierByItsAnswers) {
  EvalResult compared = compared_on_others();
  compared.outputs.resize(1);
  compared.images = 500;
  compared.classes = 10;
  compared.agreement = 400;
  SuggestResult tried = one_change();
  tried.suggestions.front().worst_interval_db = Interval{30.0, 31.0};
  tried.suggestions.front().answers.classes = AnswerShare{0.96, Interval{0.94, 0.98}};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  tried.suggestions.front().answers.classes->interval = Interval{0.955, 0.98};
  EXPECT_EQ(verdict_on(compared, &tried).name, "use_changed");
}

TEST(Verdict, RecommendsAChangeOfADetectorByItsBoxes) {
  EvalResult compared = compared_on_others();
  const BoxMatch before{.score = 0.5, .iou = 0.5, .fp32 = 100, .int8 = 80, .kept = 80};
  compared.answers.boxes = BoxAgreement{};
  compared.answers.boxes->matches = {before};
  SuggestResult tried = one_change();
  tried.answers.boxes = before;
  tried.suggestions.front().worst_interval_db = Interval{30.0, 31.0};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");  // decibels are no boxes
  BoxMatch& match = tried.suggestions.front().answers.boxes.emplace(before);
  match.int8 = match.kept = 98;
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");  // of one image
  match.kept_interval = Interval{0.94, 0.99};
  match.added_interval = Interval{0.0, 0.03};
  const Verdict undecided = verdict_on(compared, &tried);
  EXPECT_EQ(undecided.name, "do_not_use");
  EXPECT_THAT(undecided.next,
              HasSubstr("(here 12.00 -> 21.00 dB, boxes kept 80.0 -> 98.0 % (94.0 to 99.0), added "
                        "0.0 -> 0.0 % (0.0 to 3.0); time of an image "));
  EXPECT_THAT(undecided.next, HasSubstr("It was chosen on these images"));
  match.kept_interval = Interval{0.955, 0.99};
  EXPECT_EQ(verdict_on(compared, &tried).name, "use_changed");
  match.added_interval = Interval{0.0, 0.06};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  match = {.score = 0.5, .iou = 0.5};  // FP32 finds none on the images that judge
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
}

TEST(Verdict, RecommendsAChangeOfAMaskByItsPixelsAndClasses) {
  EvalResult compared = compared_on_others();
  compared.answers.mask = MaskAgreement{50, 1000, 980, {{0, 990, 980, 970}, {1, 10, 20, 10}}};
  ASSERT_EQ(advice_for(compared).step, NextStep::kKeepNodes);  // by the mean IoU
  SuggestResult tried = one_change();
  tried.suggestions.front().worst_interval_db = Interval{30.0, 31.0};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  KeptAnswers& kept = tried.suggestions.front().answers;
  kept.pixels = AnswerShare{0.99, Interval{0.98, 1.0}};
  kept.mean_iou = AnswerShare{0.92, Interval{0.89, 0.95}};
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
  kept.mean_iou->interval = Interval{0.905, 0.935};
  EXPECT_EQ(verdict_on(compared, &tried).name, "use_changed");
  kept.pixels->interval->low = 0.94;
  EXPECT_EQ(verdict_on(compared, &tried).name, "do_not_use");
}

// A change that leaves a detector at 90 % of its boxes was offered in place of the search.
TEST(Verdict, ListsTheCommandsOfAChangeOnlyIfItIsEnoughOrThereAreNoOthers) {
  EvalResult compared = compared_on_others();
  compared.outputs.back().pooled_sqnr_db = 12.0;
  SuggestResult tried = one_change();
  MakingCommands making;
  making.quantize = {"qtool", "quantize", "m.onnx"};
  making.eval = {"qtool", "eval", "m.onnx"};
  const std::vector<CommandWords> other{{"qtool", "search", "m.onnx"}};
  const Advice advice = advice_for(compared);
  const auto change = ElementsAre("qtool quantize m.onnx --exclude c0", "qtool eval m.onnx");
  EXPECT_THAT(verdict_of(advice, compared, &tried, making, {}).lines, change);
  const Verdict search = verdict_of(advice, compared, &tried, making, other);
  EXPECT_THAT(search.lines, ElementsAre("qtool search m.onnx"));
  EXPECT_EQ(search.next,
            "Search what must stay in FP32 or in 16 bits. No single change below surely reaches "
            "the limit. The command tries many together, and says at its end what it reached.");
  Suggestion enough = tried.suggestions.front();
  enough.worst_interval_db = Interval{20.1, 21.9};
  tried.suggestions.push_back(enough);  // the second one
  EXPECT_THAT(verdict_of(advice, compared, &tried, making, other).lines, change);
  EXPECT_THAT(verdict_of(advice, compared, nullptr, making, other).lines,
              ElementsAre("qtool search m.onnx"));
}

// Readers asked: too few what, and are they to be added?
TEST(Verdict, SaysOnHowManyImagesItIsNotDecided) {
  EvalResult compared = compared_on_others();
  compared.images = 100;
  Advice advice{NextStep::kCompareMore, "INT8 keeps 93 %", {"--min-agreement", "95"}};
  advice.samples = 457;
  const Verdict verdict = verdict_of(advice, compared, nullptr, {}, {});
  EXPECT_EQ(verdict.heading, "Not decided: too few images to tell whether it is good enough");
  EXPECT_EQ(verdict.next, "Compare on about 457 images of the same kind in all; these were 100.");
}

// A search that did not help is not offered again as if there had been none.
TEST(Verdict, KnowsOfTheSearchOfAuto) {
  EvalResult compared = compared_on_others();
  compared.outputs.back().pooled_sqnr_db = 12.0;
  const Advice advice = advice_for(compared);
  const auto next = [&](const FirstSearch* searched) {
    return verdict_of(advice, compared, nullptr, {}, {}, searched).next;
  };
  EXPECT_EQ(next(nullptr), "Search what must stay in FP32 or in 16 bits.");
  FirstSearch searched;
  searched.result.reached = true;
  searched.result.best.images = 20;
  searched.result.best.exclude = {"c0"};
  EXPECT_THAT(
      next(&searched),
      AllOf(HasSubstr("The goal of the search: reached on its own 20 images, none were held "
                      "back. The search reached its goal on its own images"),
            testing::Not(HasSubstr("Search what must stay"))));
  // No change is offered in place of what the search showed.
  searched.result.best.exclude.clear();
  const SuggestResult tried = one_change();
  const Verdict verdict = verdict_of(advice, compared, &tried, {}, {}, &searched);
  EXPECT_THAT(verdict.next, AllOf(HasSubstr("Begin again with more images like those"),
                                  HasSubstr("or --inputs. No single change below surely")));
  EXPECT_TRUE(verdict.lines.empty());
}

TEST(Verdict, DoesNotDecideOnImagesThatSetTheRanges) {
  EvalResult compared = compared_on_others();
  compared.overlap->common = 49;
  EXPECT_EQ(verdict_on(compared).name, "use");
  compared.overlap->common = 50;
  const Verdict verdict = verdict_on(compared, nullptr, {{"qtool", "infer", "m.onnx"}});
  EXPECT_EQ(verdict.name, "undecided");
  EXPECT_EQ(verdict.next, "Compare on other images.");
  EXPECT_TRUE(verdict.lines.empty());
}

// The text of auto and the page say the same of the other target.
TEST(Verdict, SaysWhatTheOwnTargetCostsInOtherRuntimes) {
  FirstModel made;
  made.calibrated_on = 100;
  made.functions_left = 52;
  made.compared = compared_on_others();
  made.compared.outputs.back().pooled_sqnr_db = 12.0;
  const Advice advice = advise(figures_of(made));
  ASSERT_EQ(advice.step, NextStep::kOtherTarget);
  const std::string said = "Other runtimes read the model, compute them and the convolutions";
  EXPECT_THAT(verdict_of(advice, made.compared, nullptr, {}, {}).next, HasSubstr(said));
  EXPECT_THAT(text_of(made, advice, {}), HasSubstr(said));
}

}  // namespace
}  // namespace qtool
