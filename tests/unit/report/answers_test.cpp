#include "report/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/evaluation.h"
#include "report/inference.h"

namespace qtool {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AnswerAgreement agreement() {
  AnswerAgreement agreement;
  agreement.boxes = {.detector = "mine\x1b", .nms_iou = 0.45, .images = 2};
  agreement.boxes->matches = {
      {.score = 0.3, .iou = 0.5, .fp32 = 8, .int8 = 7, .kept = 6, .mean_average_precision = 0.5},
      {.score = 0.3, .iou = 0.7, .fp32 = 0, .int8 = 1, .kept = 0}};
  agreement.mask = {.images = 2, .pixels = 200, .equal = 150, .classes = {{3, 100, 80, 60}}};
  return agreement;
}

TEST(TextOfAnswers, SaysWhatIsKeptAndAdded) {
  EvalResult result;
  result.images = 2;
  result.int8.emplace();
  result.answers = agreement();
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("boxes by detector 'mine\\u001b', NMS at IoU 0.45:\n"));
  EXPECT_THAT(text, ContainsRegex("  0.3 +0.5 +8 +7 +6 +75.0 % +1 +0.500\n"));
  EXPECT_THAT(text, ContainsRegex("  0.3 +0.7 +0 +1 +0 +- +1 +-\n"));
  EXPECT_THAT(text, HasSubstr("pixels: 75.00 % of the same class, mean IoU 0.5000 over 1 class\n"));
  const auto json = nlohmann::json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_EQ(json["boxes"]["matches"][0]["kept_share"], 0.75);
  EXPECT_EQ(json["boxes"]["matches"][0]["mean_average_precision"], 0.5);
  EXPECT_TRUE(json["boxes"]["matches"][1]["kept_share"].is_null());
  EXPECT_TRUE(json["boxes"]["matches"][1]["mean_average_precision"].is_null());
  EXPECT_EQ(json["mask"]["agreement"], 0.75);
  EXPECT_EQ(json["mask"]["classes"][0]["iou"], 0.5);
  EXPECT_TRUE(json["mask"]["agreement_interval"].is_null());
  EXPECT_TRUE(json["mask"]["mean_iou_interval"].is_null());
}

TEST(TextOfAnswers, HasTheIntervalsOfMasks) {
  EvalResult result;
  result.images = 2;
  result.int8.emplace();
  MaskAgreement& mask = result.answers.mask.emplace(*agreement().mask);
  mask.equal_interval = Interval{0.7, 0.804};
  mask.mean_iou_interval = Interval{0.412, 0.5};
  std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("pixels: 75.00 % of the same class (70.0 to 80.4 %), mean IoU 0.5000 "
                              "(0.4120 to 0.5000) over 1 class\n"));
  EXPECT_THAT(text, HasSubstr("intervals: 95 % confidence, for other images of the same kind\n"));
  auto json = nlohmann::json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_EQ(json["mask"]["agreement_interval"], nlohmann::json({0.7, 0.804}));
  EXPECT_EQ(json["mask"]["mean_iou_interval"], nlohmann::json({0.412, 0.5}));
  EXPECT_EQ(json["mask"]["too_many_counts"], false);
  mask.mean_iou_interval.reset();
  mask.too_many_counts = true;
  text = text_of(result);
  EXPECT_THAT(text, HasSubstr("mean IoU 0.5000 (no interval: too many classes in too many images) "
                              "over 1 class\n"));
  json = nlohmann::json::parse(json_of(result, SourcedPreprocess()));
  EXPECT_EQ(json["mask"]["too_many_counts"], true);
}

EvalResult annotated(CategoryMatch match) {
  EvalResult result;
  result.int8.emplace();
  result.accuracy.emplace().categories = std::move(match);
  return result;
}

TEST(TextOfAnswers, SaysByWhatCategoriesBecameClasses) {
  const EvalResult named = annotated({.by = CategoriesBy::kNames,
                                      .classes_named = true,
                                      .categories = 80,
                                      .classes = 3,
                                      .without_class = {"tv", "a\x1b"},
                                      .boxes_without_class = 7});
  EXPECT_THAT(text_of(named), HasSubstr("categories by name: 78 of 80, without 'tv', 'a\\u001b'; 7 "
                                        "boxes of these do not count\n"));
  EXPECT_THAT(named.doubts(),
              Contains(HasSubstr("2 of 80 categories of the annotations have the name of no class, "
                                 "and their 7 boxes do not count: 'tv', ")));
  const auto json = nlohmann::json::parse(json_of(named, SourcedPreprocess()));
  EXPECT_EQ(json["annotated"]["categories"]["by"], "names");
  EXPECT_EQ(json["annotated"]["categories"]["all"], 80);
  EXPECT_EQ(json["annotated"]["categories"]["without_class"][0], "tv");
  EXPECT_EQ(json["annotated"]["categories"]["boxes_without_class"], 7);

  const EvalResult guess = annotated({.by = CategoriesBy::kOrder, .categories = 2, .classes = 80});
  EXPECT_THAT(text_of(guess), HasSubstr("categories by the order of their ids, which is a guess, "
                                        "since nothing names the detector's classes\n"));
  EXPECT_THAT(guess.doubts(), Contains(HasSubstr("the detector has 80 classes, more than the "
                                                 "annotations have categories (2)")));
  const EvalResult ids =
      annotated({.by = CategoriesBy::kIds, .classes_named = true, .categories = 80, .classes = 90});
  EXPECT_THAT(text_of(ids),
              HasSubstr("categories by their ids, since the annotations do not name them\n"));
  EXPECT_THAT(ids.doubts(), IsEmpty());
}

TEST(TextOfAnswers, SaysWhichCategoriesAreAGuess) {
  const EvalResult unknown = annotated({.by = CategoriesBy::kOrder, .categories = 2});
  EXPECT_THAT(text_of(unknown),
              HasSubstr("categories by the order of their ids, which is a guess"));
  EXPECT_THAT(unknown.doubts(),
              Contains(HasSubstr("the model does not say how many classes it has: "
                                 "that they are the 2 categories of the ")));
  EvalResult unsuited = annotated({.by = CategoriesBy::kOrder,
                                   .unsuited_names = "found a, expected b",
                                   .categories = 2,
                                   .classes = 2});
  EXPECT_THAT(text_of(unsuited),
              HasSubstr("categories by the order of their ids, which is a guess, since the model's "
                        "names of classes do not suit\n"));
  EXPECT_THAT(unsuited.doubts(),
              ElementsAre("the names of classes in the model's metadata do not suit the "
                          "annotations: found a, expected b; they are not used, and the categories "
                          "are classes by the order of their ids instead, which is a guess; give "
                          "the right names by --labels"));
  const auto json = nlohmann::json::parse(json_of(unsuited, SourcedPreprocess()));
  EXPECT_EQ(json["annotated"]["categories"]["unsuited_names"], "found a, expected b");
  EXPECT_EQ(json["annotated"]["categories"]["guess"], true);
  unsuited.accuracy->categories.by = CategoriesBy::kIds;
  EXPECT_THAT(unsuited.doubts(), Contains(HasSubstr("are classes by their ids instead; give")));
}

TEST(TextOfAnswers, PutsBoxesThatMatchInOneLine) {
  InferResult result;
  result.detects = true;
  result.classes = 2;
  result.fp32.answer.boxes = {{1, 2, 30, 40, 0, 0.9F}, {5, 5, 9, 9, 1, 0.5F}};
  result.int8.emplace();
  result.int8->answer.boxes = {{50, 50, 60, 60, 1, 0.7F}, {1, 2, 30, 41, 0, 0.6F}};
  result.box_pairs = {{0, 1, 0.97}, {1, std::nullopt, 0.0}, {std::nullopt, 0, 0.0}};
  const std::vector<std::string> names{"cat"};
  const std::string text = text_of(result, names);
  EXPECT_THAT(text, ContainsRegex("cat +0.900 +0.600 +0.97 +1,2 30,40\n"));
  EXPECT_THAT(text, ContainsRegex("class 1 +0.500 +- +- +5,5 9,9\n"));
  EXPECT_THAT(text, ContainsRegex("class 1 +- +0.700 +- +50,50 60,60\n"));
  const auto json = nlohmann::json::parse(json_of(result, names, SourcedPreprocess()));
  EXPECT_EQ(json["fp32"]["boxes"][0]["name"], "cat");
  EXPECT_EQ(json["int8"]["boxes"][0]["corners"][3], 60.0);
  EXPECT_EQ(json["int8"]["boxes"][0]["score"].dump(), "0.7");
}

TEST(TextOfAnswers, SaysThatThereIsNoBox) {
  InferResult result;
  result.detects = true;
  EXPECT_THAT(text_of(result, {}), HasSubstr("no box\n"));
}

}  // namespace
}  // namespace qtool
