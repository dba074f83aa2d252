#include "report/suggestions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/suggestions_json.h"

namespace qtool {
namespace {

using testing::HasSubstr;
using testing::Not;

// A detector that keeps 41 of 100 boxes, and 80 of them with a change.
SuggestResult changed_detector() {
  SuggestResult result;
  result.sqnr_db = 8.65;
  result.answers.boxes = {.score = 0.5, .iou = 0.7, .fp32 = 100, .int8 = 61, .kept = 41};
  Suggestion& suggestion = result.suggestions.emplace_back();
  suggestion.change.exclude = {"c0"};
  suggestion.sqnr_db = 19.97;
  suggestion.gain_db = 11.32;
  suggestion.answers.boxes = {.score = 0.5, .iou = 0.7, .fp32 = 100, .int8 = 84, .kept = 80};
  suggestion.answers.boxes->kept_interval = Interval{0.732, 0.86};
  suggestion.answers.boxes->added_interval = Interval{0.011, 0.098};
  return result;
}

TEST(AnswersText, SaysTheBoxesOfBothModels) {
  const SuggestResult result = changed_detector();
  const std::string text = answers_text(result.answers, result.suggestions.front().answers);
  EXPECT_EQ(text, "boxes kept 41.0 -> 80.0 % (73.2 to 86.0), added 20.0 -> 4.0 % (1.1 to 9.8)");
  EXPECT_THAT(text_of(result), HasSubstr("+11.32 dB, to 19.97 dB\n  " + text + "\n"));
}

TEST(AnswersText, SaysPixelsAndClasses) {
  KeptAnswers before;
  KeptAnswers after;
  EXPECT_EQ(answers_text(before, after), "");
  before.pixels = AnswerShare{0.8};
  before.mean_iou = AnswerShare{0.5};
  after.pixels = AnswerShare{0.97, Interval{0.96, 0.98}};
  after.mean_iou = AnswerShare{0.9};
  EXPECT_EQ(answers_text(before, after),
            "pixels kept 80.0 -> 97.0 % (96.0 to 98.0), mean IoU 50.0 -> 90.0 %");
  KeptAnswers classes;
  classes.classes = AnswerShare{0.98, Interval{0.95, 0.99}};
  EXPECT_EQ(answers_text({}, classes), "classes kept 98.0 % (95.0 to 99.0)");
}

// Figures of nothing are not a number.
TEST(AnswersText, SaysThatThereIsNoBox) {
  KeptAnswers none;
  none.boxes.emplace();
  EXPECT_EQ(answers_text(none, none), "no boxes of FP32 to keep");
}

TEST(SuggestionsJson, HasTheAnswersThatWereCompared) {
  SuggestResult result = changed_detector();
  nlohmann::ordered_json written = json_of(result, MakingCommands());
  EXPECT_EQ(written.at("answers").at("boxes").at("kept"), 41);
  EXPECT_EQ(written.at("answers").at("boxes").at("kept_interval"), nullptr);
  const auto& change = written.at("list").at(0);
  EXPECT_EQ(change.at("answers").at("boxes").at("kept_share"), 0.8);
  EXPECT_EQ(change.at("answers").at("boxes").at("kept_interval"), (std::vector{0.732, 0.86}));
  EXPECT_THAT(change.at("answers_text").get<std::string>(), HasSubstr("boxes kept 41.0 -> 80.0"));
  EXPECT_FALSE(change.at("answers").contains("mask"));

  result.answers = {};
  result.suggestions.front().answers = {};
  result.suggestions.front().answers.pixels = AnswerShare{0.97, Interval{0.96, 0.98}};
  result.suggestions.front().answers.mean_iou = AnswerShare{0.9};
  written = json_of(result, MakingCommands());
  EXPECT_TRUE(written.at("answers").empty());
  const auto& mask = written.at("list").at(0).at("answers").at("mask");
  EXPECT_EQ(mask.at("agreement"), 0.97);
  EXPECT_EQ(mask.at("agreement_interval"), (std::vector{0.96, 0.98}));
  EXPECT_EQ(mask.at("mean_iou"), 0.9);
  EXPECT_EQ(mask.at("mean_iou_interval"), nullptr);
}

}  // namespace
}  // namespace qtool
