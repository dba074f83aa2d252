#include "report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"
#include "report/analysis.h"
#include "report/page/baseline.h"
#include "report/page/verdict.h"
#include "support/image_folder.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBlock = "<script type=\"application/json\" id=\"data\">";
constexpr std::string_view kEnd = "</script>";

/// The data that a browser hands to the script: everything up to the first end tag.
Json data_of(const std::string& html) {
  const std::size_t begin = html.find(kBlock) + kBlock.size();
  return Json::parse(html.substr(begin, html.find(kEnd, begin) - begin));
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

/// A page with these tensors, each written by a node. The first one is the worst.
Page page_of(const std::vector<std::string>& tensors) {
  Page page;
  page.analysis.images = 4;
  for (const std::string& tensor : tensors) {
    ErrorSource source;
    source.name = tensor;
    source.node = to_text("node of ", tensor);
    source.op_type = "Conv";
    source.share = 1.0 / static_cast<double>(page.analysis.sources.size() + 1);
    source.range = {-1.0F, 1.0F};
    page.analysis.sources.push_back(source);
    page.analysis.layers.push_back({source.node, source.noise});
    page.nodes.push_back(source.node);
  }
  return page;
}

std::vector<std::string> many_names(std::size_t names, std::size_t length) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < names; ++i) list.push_back(to_text(i, std::string(length, 'x')));
  return list;
}

TEST(Page, HoldsTheFiguresOfTheJson) {
  const Page page = page_of({"a", "b"});
  const std::string html = html_of(page);
  EXPECT_THAT(html, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(html, testing::EndsWith("</html>\n"));
  EXPECT_EQ(data_of(html).at("analysis"), Json::parse(json_of(page.analysis, page.preprocess)));
  EXPECT_EQ(data_of(html).at("sources_left_out"), 0);
}

TEST(Page, CountsTheFilesThatWereNotUsed) {
  Page page = page_of({"a"});
  page.analysis.bad = {{"a.jpg", "image 'a.jpg' ends early"}};
  page.analysis.passed_over = {2, {"x.gif", "y.tif"}};
  page.evaluation.bad = page.analysis.bad;
  page.suggestions.emplace().bad = page.analysis.bad;
  const std::string html = html_of(page);
  EXPECT_EQ(data_of(html).at("unused_files"), 3);
  EXPECT_EQ(occurrences(html, "ends early"), 1U);
}

TEST(Page, HoldsLinesThatRun) {
  Page page = page_of({"a"});
  page.suggestions.emplace().suggestions.push_back({.change = {.exclude = {"a b"}}});
  page.suggestions->suggestions[0].answers.classes = AnswerShare{0.98};
  page.commands.quantize = {"qtool", "quantize", "m.onnx"};
  const Json change = data_of(html_of(page)).at("analysis").at("suggestions").at("list").at(0);
  EXPECT_EQ(change.at("line"), "qtool quantize m.onnx --exclude 'a b'");
  EXPECT_EQ(change.at("complete"), true);
  EXPECT_EQ(change.at("answers_text"), "classes kept 98.0 %");
}

TEST(Page, NoNameLeavesTheBlock) {
  const std::string plain = html_of(page_of({"a"}));
  const std::vector<std::string> hostile{"</script><img src=x onerror=alert(1)>",
                                         "<!--<script>",
                                         "]]>\"'\\",
                                         "\xE2\x80\xA8\xE2\x80\xA9",
                                         "QTOOL_PAGE_DATA",
                                         "__proto__",
                                         std::string("not UTF-8 \xFF and a zero \0", 24)};
  const Page page = page_of(hostile);
  const std::string html = html_of(page);
  for (const std::string_view markup : {"<", ">", "&", "<script", "</script"}) {
    EXPECT_EQ(occurrences(html, markup), occurrences(plain, markup)) << markup;
  }
  EXPECT_TRUE(std::all_of(html.begin(), html.end(), [](char c) { return c > 0 && c < 0x7F; }));
  EXPECT_EQ(data_of(html).at("analysis"), Json::parse(json_of(page.analysis, page.preprocess)));
}

TEST(Page, AThousandSourcesFitIntoIt) {
  const std::string html = html_of(page_of(many_names(1000, 60)));
  EXPECT_LE(html.size(), kMaxPageBytes);
  EXPECT_EQ(data_of(html).at("analysis").at("sources").size(), 1000U);
}

TEST(Page, LeavesOutTheLeastSourcesWhereTheyAreTooMany) {
  const std::string html = html_of(page_of(many_names(20000, 60)));
  EXPECT_LE(html.size(), kMaxPageBytes);
  const Json data = data_of(html);
  const Json& sources = data.at("analysis").at("sources");
  EXPECT_GT(sources.size(), 500U);
  EXPECT_EQ(sources.at(0).at("share"), 1.0);
  EXPECT_EQ(sources.size() + data.at("sources_left_out").get<std::size_t>(), 20000U);
}

TEST(Page, FitsWhateverTheNamesAre) {
  Page page = page_of({std::string(3'000'000, 'x')});
  page.analysis.sources[0].saturated_share = 1.0;  // a fault, which names the tensor
  page.evaluation.int8.emplace();
  page.evaluation.outputs.emplace_back().name = page.analysis.sources[0].name;
  page.provenance = {{"command", page.analysis.sources[0].name}};
  EXPECT_LE(html_of(page).size(), kMaxPageBytes);
}

// A model that keeps 150 of 200 classes, with a change that was tried.
Page page_of_a_bad_model() {
  Page page = page_of({"a"});
  page.evaluation.int8.emplace();
  page.evaluation.images = 200;
  page.evaluation.classes = 3;
  page.evaluation.agreement = 150;
  page.evaluation.outputs.emplace_back();
  SuggestResult& tried = page.suggestions.emplace();
  tried.sqnr_db = 9.0;
  tried.suggestions.push_back({.change = {.exclude = {"c0"}}, .sqnr_db = 21.0, .gain_db = 12.0});
  page.commands.quantize = {"qtool", "quantize", "m.onnx"};
  return page;
}

TEST(Verdict, SaysWhatToDoAboutABadModel) {
  const Json verdict = data_of(html_of(page_of_a_bad_model())).at("verdict");
  EXPECT_EQ(verdict.at("name"), "do_not_use");
  EXPECT_EQ(verdict.at("step"), "keep_nodes");
  EXPECT_THAT(verdict.at("why").get<std::string>(),
              testing::AllOf(testing::HasSubstr("75.00 % ("), testing::EndsWith("95 %")));
  EXPECT_THAT(verdict.at("next").get<std::string>(),
              testing::AllOf(testing::HasSubstr("c0 in FP32"), testing::HasSubstr("+12.00 dB")));
  EXPECT_EQ(verdict.at("lines"), Json({"qtool quantize m.onnx --exclude c0"}));
}

TEST(Page, SaysWhatFollowsTheSearchOfAuto) {
  Page page = page_of_a_bad_model();
  page.suggestions.reset();
  page.searched.emplace().result.end = SearchEnd::kBudget;
  page.next = {{"qtool", "auto", "m.onnx", "--search", "20m"}};
  const Json verdict = data_of(html_of(page)).at("verdict");
  EXPECT_THAT(verdict.at("next").get<std::string>(),
              testing::HasSubstr("The time of the search was used up. Begin again with more of"));
  EXPECT_EQ(verdict.at("lines"), Json({"qtool auto m.onnx --search 20m"}));
}

TEST(Verdict, NamesTheChangeThatReachesTheLimit) {
  Page page = page_of_a_bad_model();
  page.evaluation.classes = 0;
  page.suggestions->suggestions[0].worst_interval_db = {20.5, 21.5};
  const Json verdict = data_of(html_of(page)).at("verdict");
  EXPECT_EQ(verdict.at("name"), "use_changed");
  EXPECT_EQ(verdict.at("heading"), "Use it with a change: c0 in FP32");
}

TEST(Verdict, SaysThatFewImagesDoNotDecide) {
  Page page = page_of_a_bad_model();
  page.evaluation.images = 20;
  page.evaluation.agreement = 19;
  page.next = {{"qtool", "eval", "m.onnx"}};
  const Json verdict = data_of(html_of(page)).at("verdict");
  EXPECT_EQ(verdict.at("name"), "undecided");
  EXPECT_THAT(verdict.at("next").get<std::string>(), testing::StartsWith("Compare on "));
  EXPECT_EQ(verdict.at("lines"), Json({"qtool eval m.onnx"}));
}

TEST(Verdict, GivesTheFigureOfAGoodModel) {
  Page page = page_of_a_bad_model();
  page.evaluation.agreement = 200;
  StepTime& step = page.latency.int8.emplace().steps.emplace_back();
  step.step.macs = 1;
  step.step.integer = true;
  const Json verdict = data_of(html_of(page)).at("verdict");
  EXPECT_EQ(verdict.at("name"), "use");
  EXPECT_THAT(verdict.at("figure").get<std::string>(),
              testing::HasSubstr("200 of 200 images: 100.0 % (95 % confidence: 9"));
  page.calibrated_on = 4;
  EXPECT_EQ(data_of(html_of(page)).at("verdict").at("step"), "add_samples");
}

TEST(Verdict, IsAbsentWithoutAComparison) {
  EXPECT_TRUE(data_of(html_of(page_of({"a"}))).at("verdict").is_null());
}

/// The data of a figure of the page.
Json figure(const Page& page, const char* name) { return data_of(html_of(page)).at(name); }

TEST(Page, DrawsTheLevelsThatAreInUse) {
  Page page = page_of({"a", "b"});
  page.analysis.sources[0].levels = {-4.0, 0.5, {0, 0, 7, 0, 1, 0}};
  const Json histograms = figure(page, "histograms");
  ASSERT_EQ(histograms.size(), 1U);
  EXPECT_EQ(histograms.at(0).at("tensor"), "a");
  EXPECT_EQ(histograms.at(0).at("lower"), -3.0);
  EXPECT_EQ(histograms.at(0).at("step"), 0.5);
  EXPECT_EQ(histograms.at(0).at("counts"), Json({7, 0, 1}));
}

// Both models share a grid, so that equal values lie on the diagonal.
TEST(Page, DrawsOneModelAgainstTheOther) {
  Page page = page_of({"a"});
  page.analysis.sources[0].pairs = {{-1.0F, -1.0F}, {3.0F, 1.0F}};
  page.analysis.outputs = {{"logits", 20.0, {{0.0F, 2.0F}}}};
  const Json scatter = figure(page, "scatter");
  ASSERT_EQ(scatter.size(), 2U);
  EXPECT_EQ(scatter.at(0).at("output"), "logits");
  EXPECT_EQ(scatter.at(0).at("points"), Json({0, 1000}));
  EXPECT_EQ(scatter.at(1).at("range"), Json({-1.0, 3.0}));
  EXPECT_EQ(scatter.at(1).at("points"), Json({0, 0, 1000, 500}));
  page.analysis.sources[0].pairs = {{std::nanf(""), 1.0F}};
  EXPECT_TRUE(figure(page, "scatter").at(1).at("points").empty());
}

TEST(Page, DrawsChannelsWhereTheyDiffer) {
  Page page = page_of({"a", "b"});
  page.analysis.sources[1].channel_ranges = {{-1.0F, 0.0F}, {0.0F, 9.0F}};
  const Json channels = figure(page, "channels");
  ASSERT_EQ(channels.size(), 1U);
  EXPECT_EQ(channels.at(0).at("ends"), Json({0, 100, 100, 1000}));
}

TEST(Page, ShowsTheWorstImagesWithBothAnswers) {
  Page page = page_of({"a"});
  page.worst = {
      {"photos/<b>.jpg", true, 3.5, "cat", {"cat, margin 1.00", "dog, margin 0.25"}, "Man"}};
  const Json worst = figure(page, "worst");
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst.at(0).at("path"), "photos/<b>.jpg");
  EXPECT_EQ(worst.at(0).at("int8"), "dog, margin 0.25");
  EXPECT_EQ(worst.at(0).at("jpeg"), "TWFu");  // RFC 4648
}

TEST(Page, DrawsTheWorstWhereNotAllFit) {
  Page page = page_of(many_names(100, 60));
  for (ErrorSource& source : page.analysis.sources) {
    source.levels = {0.0, 1.0, std::vector<std::int64_t>(2048, 1'000'000'000'000)};
  }
  const std::string html = html_of(page);
  EXPECT_LE(html.size(), kMaxPageBytes);
  const Json data = data_of(html);
  EXPECT_TRUE(data.at("drawings_left_out"));
  EXPECT_EQ(data.at("histograms").size(), 50U);
  EXPECT_EQ(data.at("histograms").at(0).at("tensor"), page.analysis.sources[0].name);
  EXPECT_EQ(data.at("analysis").at("sources").size(), 100U);
}

TEST(Page, DrawsTheWeightsOfEachChannel) {
  Page page = page_of({"a"});
  ErrorSource& source = page.analysis.sources[0];
  source.kind = SourceKind::kWeights;
  source.filter = 9;
  source.weight_channels = {{{-1.0F, 0.0F}, 0.25}, {{0.0F, 3.0F}, 0.75}};
  const Json weights = figure(page, "weights");
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights.at(0).at("ends"), Json({0, 250, 250, 1000}));
  EXPECT_EQ(weights.at(0).at("errors"), Json({250, 750}));
  EXPECT_EQ(weights.at(0).at("worst"), 1);
  source.weight_channels.assign(600, {{-1.0F, 1.0F}, 1.0 / 600.0});
  const Json many = figure(page, "weights").at(0);
  EXPECT_EQ(many.at("per_bar"), 3);
  EXPECT_EQ(many.at("errors"), Json(std::vector<int>(200, 5)));
}

TEST(Page, LeavesOutDrawingsBeforeSources) {
  Page page = page_of(many_names(100, 60));
  for (ErrorSource& source : page.analysis.sources) {
    source.levels = {0.0, 1.0, std::vector<std::int64_t>(8192, 1'000'000'000'000)};
  }
  page.worst.resize(1);
  page.worst[0].jpeg = std::string(1'300'000, 'x');
  const std::string html = html_of(page);
  EXPECT_LE(html.size(), kMaxPageBytes);
  const Json data = data_of(html);
  EXPECT_TRUE(data.at("histograms").empty());
  EXPECT_EQ(data.at("worst").size(), 1U);
  EXPECT_EQ(data.at("analysis").at("sources").size(), 100U);
}

// For the images of a folder, the page has only their number.
TEST(Page, HoldsNoRowForEachImage) {
  Page page = page_of({"a"});
  page.evaluation.int8.emplace();
  page.evaluation.classes = 3;
  for (int i = 0; i < 40'000; ++i) {
    SampleResult& sample = page.evaluation.samples.emplace_back();
    sample.path = to_text("photos/of/a/folder/image", i, ".jpg");
    sample.label = 0;
    sample.top1 = {TopClass{0, 1.0}, TopClass{1, 1.0}};
  }
  const std::string html = html_of(page);
  EXPECT_LE(html.size(), 100'000U);
  EXPECT_EQ(data_of(html).at("evaluation").at("flips"), 40'000);
}

TEST(WorstImages, AreThoseOfAnotherClassThenThoseWithTheLowestSqnr) {
  EvalResult result;
  result.classes = 3;
  result.class_names = {"cat", "dog", "owl"};
  for (const double db : {20.0, 3.0, 10.0, 30.0}) {
    SampleResult& sample = result.samples.emplace_back();
    sample.path = to_text("absent/", db);
    sample.sqnr_db = {db};
    sample.top1 = {TopClass{0, 1.0}, TopClass{0, 1.0}};
  }
  result.samples[3].top1[1] = {2, 0.5};
  std::vector<WorstImage> worst = worst_images(result, 3);
  add_thumbnails(worst);
  ASSERT_EQ(worst.size(), 3U);
  EXPECT_TRUE(worst[0].flipped);
  EXPECT_EQ(worst[0].sqnr_db, 30.0);
  EXPECT_THAT(worst[0].answers[0], testing::HasSubstr("cat"));
  EXPECT_THAT(worst[0].answers[1], testing::HasSubstr("owl"));
  EXPECT_EQ(worst[1].sqnr_db, 3.0);
  EXPECT_EQ(worst[2].sqnr_db, 10.0);
  EXPECT_TRUE(worst[0].jpeg.empty());  // there is no such file
}

// The strip and the times have the order of the network, and not of the errors.
TEST(Page, OrdersLayersAsTheNetworkRuns) {
  Page page = page_of({"late", "early"});
  page.nodes = {"node of early", "without an error", "node of late"};
  for (const double seconds : {0.5, 0.25}) {
    StepTime& step = page.latency.fp32.steps.emplace_back();
    step.step.node = "node of late";
    step.seconds = seconds;
  }
  const Json data = data_of(html_of(page));
  EXPECT_EQ(data.at("strip"), Json({"node of early", "node of late"}));
  EXPECT_EQ(data.at("latency").at("nodes"),
            Json::array({Json::array({nullptr, nullptr}), Json::array({0.75, nullptr})}));
}

TEST(Page, SaysWhetherTheSamplesOfTheRangesAreEnough) {
  ImageFolder folder(8, 2);
  Page page = page_of({"a"});
  CheckedSet& set = page.set.emplace(CheckedSet{{}, Samples(folder.list())});
  set.check.samples = 2;
  set.check.distinct = 1;
  set.check.moves.assign(12, {"a", 0.2, 1.0});
  set.check.setters = {{1, 3, "a", 1.5}};
  set.check.twins = {{0, 1, 0.1}};
  const Json shown = data_of(html_of(page)).at("set");
  EXPECT_EQ(shown.at("tensors").size(), 10U);
  EXPECT_EQ(shown.at("all_tensors"), 12);
  EXPECT_EQ(shown.at("tensors_checked"), 12);
  EXPECT_EQ(shown.at("all_widen_alone"), 1);
  EXPECT_EQ(shown.at("near_duplicates").at(0).at("distance"), 0.1);
}

TEST(Page, SaysWhatChangedSinceAnEarlierReport) {
  Page page = page_of({"stays", "comes"});
  page.analysis.noise = 0.01;
  page.analysis.sources[0].noise = 0.004;
  page.analysis.sources[1].noise = 0.005;
  AnalyzeResult before = page.analysis;
  before.noise = 0.1;
  before.sources[1].name = "goes";
  before.sources[1].noise = 0.09;
  const EarlierReport earlier = read_report(json_of(before, std::nullopt), "before.json");
  page.change = change_since(earlier, page.analysis);
  ASSERT_EQ(page.change->sources.size(), 2U);  // "stays" is as before
  EXPECT_EQ(page.change->sources[0].name, "goes");
  EXPECT_FALSE(page.change->sources[0].after);
  const Json change = data_of(html_of(page)).at("analysis").at("baseline");
  EXPECT_DOUBLE_EQ(change.at("pooled_sqnr_db").at("before").get<double>(), 10.0);
  EXPECT_DOUBLE_EQ(change.at("sources").at(0).at("before").get<double>(), 0.9);
  EXPECT_TRUE(change.at("sources").at(1).at("before").is_null());
  EXPECT_DOUBLE_EQ(change.at("sources").at(1).at("after").get<double>(), 0.5);
  const std::string text = text_of(*page.change, "image", 80);
  EXPECT_THAT(text, testing::StartsWith(
                        "against the earlier report (4 images): pooled SQNR 10.00 dB before, "
                        "20.00 dB now, +10.00 dB"));
  EXPECT_THAT(text, testing::ContainsRegex("goes +activation +90.0 % +gone"));
  EXPECT_THAT(text, testing::ContainsRegex("comes +activation +new +50.0 %"));
}

TEST(Page, DoubtsAnEarlierReportOfAnotherModelOrOtherImages) {
  Page page = page_of({"a"});
  page.analysis.noise = 0.01;
  page.analysis.model_fingerprint = 1;
  page.analysis.samples_hash = 2;
  const auto change_from = [&](const AnalyzeResult& before) {
    const EarlierReport earlier = read_report(json_of(before, std::nullopt), "before.json");
    return change_since(earlier, page.analysis);
  };
  AnalyzeResult before = page.analysis;
  EXPECT_THAT(change_from(before).doubts, testing::IsEmpty());
  before.model_fingerprint = before.samples_hash = 7;
  const ReportChange change = change_from(before);
  EXPECT_THAT(text_of(change, "image", 80),
              testing::HasSubstr("+0.00 dB\nthe earlier report is of another FP32 model\n"
                                 "the earlier report is of other images\n"));
  EXPECT_EQ(json_of(change).at("doubts").size(), 2U);
  before.model_fingerprint.reset();  // the reports of earlier versions have neither
  before.samples_hash.reset();
  EXPECT_THAT(change_from(before).doubts, testing::IsEmpty());
  before.noise = 0.0;
  EXPECT_THAT(text_of(change_from(before), "image", 80),
              testing::HasSubstr("pooled SQNR 200.00 dB before, 20.00 dB now, -180.00 dB\n"));
}

TEST(Page, RefusesAnEarlierReportThatIsNone) {
  for (const char* text : {"[]", "{}", "{\"sources\": 3}", "no JSON",
                           "{\"images\": 1, \"noise\": -1, \"sources\": []}"}) {
    EXPECT_THROW(read_report(text, "before.json"), Error) << text;
  }
}

// A thumbnail is a small JPEG of the whole image.
TEST(WorstImages, HavePictures) {
  ImageFolder folder(400, 1);
  EvalResult result;
  result.samples.emplace_back().path = folder.list().entries.at(0).path;
  result.samples[0].sqnr_db = {1.0};
  std::vector<WorstImage> worst = worst_images(result, 3);
  add_thumbnails(worst);
  ASSERT_EQ(worst.size(), 1U);
  const Image image = decode_image(worst[0].jpeg, "a.jpg");
  EXPECT_EQ(image.width, kThumbnailSide);
  EXPECT_EQ(image.height, kThumbnailSide);
}

}  // namespace
}  // namespace qtool
