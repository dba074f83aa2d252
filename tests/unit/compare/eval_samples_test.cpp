#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare/class_tally.h"
#include "qtool/compare/evaluate.h"
#include "report/csv.h"
#include "report/evaluation.h"
#include "report/samples.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

SampleResult sample_result(const char* path, std::int64_t label, TopClass fp32, TopClass int8,
                           double margin_lost = 0.0) {
  return {.path = path,
          .label = label,
          .top1 = {fp32, int8},
          .margin_lost = margin_lost,
          .sqnr_db = {20.5}};
}

// Three classes. INT8 loses one of three cats to dogs, and gets the fish right, which FP32 took for
// a dog.
EvalResult three_classes() {
  EvalResult result;
  result.classes = 3;
  result.class_names = {"cat", "dog", "-fish"};
  result.samples = {
      sample_result("a.jpg", 0, {0, 4.0}, {0, 3.5}),
      sample_result("b.jpg", 0, {0, 0.25}, {1, 0.5}, 0.75),
      sample_result("c.jpg", 0, {1, 1.0}, {1, 1.0}),
      sample_result("=d,\"x\".jpg", 2, {1, 2.0}, {2, 0.5}, 2.5),
      sample_result("e.jpg", -1, {2, 1.0}, {1, 0.5}, 1.5),
      sample_result("no.jpg", 1, {-1, 0.0}, {1, 0.5}),
  };
  result.samples.back().sqnr_db.clear();
  result.images = 6;
  result.labelled = 5;
  result.int8.emplace();
  result.outputs = {{.name = "logits"}};
  return result;
}

TEST(TallyClasses, CountsRightAnswersOfBothModelsPerClass) {
  const std::vector<ClassTally> classes = tally_classes(three_classes().samples);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[0].label, 0);
  EXPECT_EQ(classes[0].images, 3);
  EXPECT_THAT(classes[0].top1, ElementsAre(2, 1));
  EXPECT_EQ(classes[1].images, 1);
  EXPECT_THAT(classes[1].top1, ElementsAre(0, 1));  // no answer is a wrong one
  EXPECT_THAT(classes[2].top1, ElementsAre(0, 1));
}

TEST(Confusions, PutWhatChangedMostFirst) {
  EvalResult result = three_classes();
  result.samples.push_back(sample_result("f.jpg", 0, {0, 1.0}, {1, 1.0}, 2.0));
  const std::vector<Confusion> pairs = confusions(result.samples);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].label, 0);
  EXPECT_EQ(pairs[0].answer, 1);
  EXPECT_THAT(pairs[0].images, ElementsAre(1, 3));
  EXPECT_EQ(pairs[1].label, 2);
  EXPECT_THAT(pairs[1].images, ElementsAre(1, 0));
}

TEST(Flips, AreOrderedByTheMarginLost) {
  const EvalResult result = three_classes();
  std::vector<std::string> paths;
  for (const SampleResult* one : flips(result.samples)) paths.push_back(one->path.string());
  EXPECT_THAT(paths, ElementsAre("=d,\"x\".jpg", "e.jpg", "b.jpg"));
}

TEST(Flips, TakeAnInfiniteMarginForTheLargest) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<SampleResult> samples{
      sample_result("a", -1, {0, 1.0}, {1, 1.0}, 2.0),
      sample_result("b", -1, {0, infinity}, {1, 1.0}, infinity)};
  EXPECT_EQ(flips(samples).front()->path, "b");
}

TEST(CsvText, IsQuotedAsRfc4180Says) {
  EXPECT_EQ(csv_text("plain name.jpg"), "plain name.jpg");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"cheese\""), "\"say \"\"cheese\"\"\"");
  EXPECT_EQ(csv_text("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_text(""), "");
}

TEST(CsvText, IsNoFormulaForASpreadsheet) {
  for (const char* text : {"=1+1", "+1", "-fish", "@cmd", "\tx"}) {
    EXPECT_EQ(csv_text(text), std::string("'") + text);
  }
  EXPECT_EQ(csv_text("\rx"), "\"'\rx\"");
}

TEST(CsvPath, StillNamesTheFileAndIsNoFormula) {
  EXPECT_EQ(csv_path("=cmd.jpg"), "./=cmd.jpg");
  EXPECT_EQ(csv_path("-a,b.jpg"), "\"./-a,b.jpg\"");
  EXPECT_EQ(csv_path("photos/=cmd.jpg"), "photos/=cmd.jpg");
}

TEST(FlipsCsv, HasBothAnswersAndMargins) {
  EXPECT_EQ(flips_csv(three_classes()),
            "image,label,label_name,fp32_class,fp32_name,fp32_margin,int8_class,int8_name,"
            "int8_margin,margin_lost\r\n"
            "\"./=d,\"\"x\"\".jpg\",2,'-fish,1,dog,2,2,'-fish,0.5,2.5\r\n"
            "e.jpg,,,2,'-fish,1,1,dog,0.5,1.5\r\n"
            "b.jpg,0,cat,0,cat,0.25,1,dog,0.5,0.75\r\n");
}

TEST(SamplesCsv, HasOneRecordPerImageAndLeavesOutWhatIsUnknown) {
  const std::string csv = samples_csv(three_classes());
  EXPECT_THAT(csv, HasSubstr("int8_margin,sqnr_db\r\na.jpg,0,cat,0,cat,4,0,cat,3.5,20.5\r\n"));
  EXPECT_THAT(csv, HasSubstr("\r\nno.jpg,1,dog,,,,1,dog,0.5,\r\n"));
}

TEST(SamplesCsv, HasAColumnForEachOfSeveralOutputs) {
  EvalResult result;
  result.outputs = {{.name = "boxes"}, {.name = "sco,res"}};
  result.samples = {{.path = "a.jpg", .sqnr_db = {30.0, 31.5}}};
  const std::string csv = samples_csv(result);
  EXPECT_THAT(csv, HasSubstr(",sqnr_db:boxes,\"sqnr_db:sco,res\"\r\na.jpg,,,,,,,,,30,31.5\r\n"));
}

TEST(TextOfClasses, NamesTheClassesAndMistakesThatChanged) {
  const std::string text = text_of_classes(three_classes(), kAnyWidth);
  EXPECT_THAT(text, testing::ContainsRegex("cat +3 +2 +1 +-1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("cat +dog +1 +2 +\\+1\n"));
  EXPECT_THAT(text, testing::ContainsRegex("-fish +dog +1 +0 +-1\n"));
}

TEST(TextOfClasses, NamesTheWorstFiveAndCountsTheRest) {
  EvalResult result = three_classes();
  for (int label = 3; label < 9; ++label) {
    result.samples.push_back(sample_result("x.jpg", label, {label, 1.0}, {0, 1.0}, 2.0));
  }
  const std::string text = text_of_classes(result, kAnyWidth);  // 9 classes and 8 mistakes
  EXPECT_THAT(text, HasSubstr("\nand 4 more, see --json\nmistakes"));
  EXPECT_THAT(text, testing::EndsWith("and 3 more, see --json\n"));
}

TEST(TextOfClasses, SaysNothingWhereNothingChanged) {
  EvalResult result = three_classes();
  for (SampleResult& one : result.samples) one.top1[1] = one.top1[0];
  EXPECT_EQ(text_of_classes(result, kAnyWidth), "");
}

TEST(JsonOfEval, ListsClassesConfusionsAndFlips) {
  const auto parsed = nlohmann::json::parse(json_of(three_classes(), std::nullopt));
  ASSERT_EQ(parsed["top1_by_class"].size(), 3U);
  EXPECT_EQ(parsed["top1_by_class"][0]["name"], "cat");
  EXPECT_EQ(parsed["top1_by_class"][0]["images"], 3);
  EXPECT_EQ(parsed["top1_by_class"][0]["fp32"], 2);
  EXPECT_EQ(parsed["top1_by_class"][0]["int8"], 1);
  EXPECT_EQ(parsed["confusions"][0]["label"]["name"], "cat");
  EXPECT_EQ(parsed["confusions"][0]["answer"]["name"], "dog");
  ASSERT_EQ(parsed["flips"].size(), 3U);
  EXPECT_EQ(parsed["flips"][0]["path"], "=d,\"x\".jpg");
  EXPECT_EQ(parsed["flips"][0]["int8"]["margin"], 0.5);
  EXPECT_EQ(parsed["flips"][0]["margin_lost"], 2.5);
  EXPECT_FALSE(parsed["flips"][1].contains("label"));
}

TEST(JsonOfEval, HasNoClassesWithoutScores) {
  EvalResult result = three_classes();
  result.classes = 0;
  EXPECT_THAT(json_of(result, std::nullopt), Not(HasSubstr("flips")));
}

}  // namespace
}  // namespace qtool
