// Every result says which files of --images were not used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/analysis.h"
#include "report/evaluation.h"
#include "report/first_model.h"
#include "report/quantization.h"
#include "report/samples.h"
#include "report/samples_json.h"
#include "report/search.h"
#include "report/set_check.h"
#include "report/suggestions_json.h"

namespace qtool {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

const std::vector<BadImage> kBroken{{"a.jpg", "image 'a.jpg' ends early"}};
const PassedOver kScans{2, {"x.gif", "y.tif"}};
constexpr const char* kUnusedText =
    "left out 1 image:\n"
    "  image 'a.jpg' ends early\n"
    "left out 2 pictures in formats that are not read (convert to PNG or JPEG):\n"
    "  x.gif\n"
    "  y.tif\n";

void expect_unused(const json& found) {
  EXPECT_EQ(found["left_out"],
            json::array({{{"path", "a.jpg"}, {"reason", "image 'a.jpg' ends early"}}}));
  EXPECT_EQ(found["passed_over"], json({{"count", 2}, {"first", {"x.gif", "y.tif"}}}));
}

TEST(TextOfUnusedFiles, IsEmptyIfAllFilesAreUsed) { EXPECT_EQ(text_of(UnusedFiles()), ""); }

TEST(TextOfUnusedFiles, CountsAndNamesThem) {
  EXPECT_EQ(text_of(UnusedFiles{kBroken, kScans}), kUnusedText);
}

TEST(TextOfUnusedFiles, NamesTheFirstTen) {
  UnusedFiles files;
  for (int i = 0; i < 12; ++i) files.bad.push_back({to_text(i, ".jpg"), to_text("bad ", i)});
  files.passed_over = {PassedOver::kMostNamed + 5, {}};
  for (std::size_t i = 0; i < PassedOver::kMostNamed; ++i) {
    files.passed_over.first.emplace_back(to_text("\x1b", i, ".tif"));
  }
  const std::string text = text_of(files);
  EXPECT_THAT(text, HasSubstr("left out 12 images:\n  bad 0\n"));
  EXPECT_THAT(text, HasSubstr("  bad 9\n  and 2 more\nleft out 15 pictures"));
  EXPECT_THAT(text, testing::EndsWith("  and 5 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(UnusedFiles, HaveEveryImageOnce) {
  UnusedFiles files{kBroken, {}};
  files.add({{"a.jpg", "again"}, {"b.jpg", "b"}});
  ASSERT_EQ(files.bad.size(), 2U);
  EXPECT_EQ(files.bad[0], kBroken[0]);
  EXPECT_EQ(files.bad[1].path, "b.jpg");
}

TEST(JsonOfUnusedFiles, HasPathsAndReasons) {
  ordered_json found;
  add_unused({kBroken, kScans}, found);
  expect_unused(found);
}

TEST(UnusedFiles, ArePartOfAnEvaluation) {
  EvalResult result;
  result.bad = kBroken;
  result.passed_over = kScans;
  EXPECT_THAT(text_of(result), testing::EndsWith(kUnusedText));
  expect_unused(json::parse(json_of(result, std::nullopt)));
}

TEST(UnusedFiles, ArePartOfAnAnalysis) {
  AnalyzeResult result;
  result.bad = kBroken;
  result.passed_over = kScans;
  EXPECT_THAT(text_of(result, 0), testing::EndsWith(kUnusedText));
  SuggestResult suggestions;
  suggestions.bad = kBroken;
  const json found = json::parse(json_of(result, std::nullopt, suggestions));
  expect_unused(found);
  EXPECT_EQ(found["suggestions"]["left_out"], found["left_out"]);
}

TEST(UnusedFiles, ArePartOfASearch) {
  SearchResult result;
  result.bad = kBroken;
  result.passed_over = kScans;
  EXPECT_THAT(text_of(result), testing::EndsWith(kUnusedText));
  expect_unused(json::parse(json_of(result, std::nullopt)));
}

TEST(UnusedFiles, ArePartOfACheckOfImages) {
  SetCheck check;
  check.bad = kBroken;
  ImageSet images;
  images.passed_over = kScans;
  const Samples samples(images);
  EXPECT_THAT(text_of(check, samples, kAnyWidth), testing::EndsWith(kUnusedText));
  expect_unused(json::parse(json_of(check, samples)));
}

TEST(UnusedFiles, ArePartOfACalibration) {
  const CalibrationTable table;
  EXPECT_THAT(text_of(table, "t.json", {kBroken, kScans}, ListLength::kShort),
              testing::EndsWith(kUnusedText));
  expect_unused(json::parse(json_of(table, "t.json", {kBroken, kScans}, std::nullopt)));
}

TEST(UnusedFiles, ArePartOfAQuantization) {
  QuantizationSummary summary;
  summary.verified.emplace();
  summary.unused = {kBroken, kScans};
  EXPECT_THAT(text_of(summary, ListLength::kShort), testing::EndsWith(kUnusedText));
  expect_unused(json::parse(json_of(summary)));
}

// The two halves are named apart. Files of a folder that both halves are taken from are named once.
TEST(UnusedFiles, OfAFirstModelAreThoseOfBothHalves) {
  FirstModel made;
  made.quantized.unused = {kBroken, kScans};
  made.compared.bad = {{"b.jpg", "image 'b.jpg' is empty"}};
  made.compared.passed_over = kScans;
  const Advice advice = advise(figures_of(made));
  const std::string text = text_of(made, advice, {});
  EXPECT_THAT(text, HasSubstr("of the files to calibrate on:\n"
                              "left out 1 image:\n"
                              "  image 'a.jpg' ends early\n\n"));
  EXPECT_THAT(text, HasSubstr("left out 1 image:\n"
                              "  image 'b.jpg' is empty\n"
                              "left out 2 pictures in formats"));
  const json found = json::parse(json_of(made, advice, {}));
  expect_unused(found["quantize"]);
  EXPECT_EQ(found["eval"]["left_out"][0]["path"], "b.jpg");

  made.compared.passed_over = {};  // the other half is another folder
  EXPECT_THAT(text_of(made, advice, {}),
              HasSubstr(to_text("of the files to calibrate on:\n", kUnusedText)));
  made.too_few = true;  // both halves are the same images
  made.quantized.unused.passed_over = {};
  EXPECT_THAT(text_of(made, advice, {}), Not(HasSubstr("of the files to calibrate on")));
}

}  // namespace
}  // namespace qtool
