#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "calib/statistics.h"
#include "report/analysis.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBlock = "<script type=\"application/json\" id=\"data\">";
constexpr std::string_view kEnd = "</script>";

/// What a browser hands to the script: everything up to the first end tag.
Json data_of(const std::string& html) {
  const std::size_t begin = html.find(kBlock) + kBlock.size();
  return Json::parse(html.substr(begin, html.find(kEnd, begin) - begin));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

/// As many tensors as that, each written by a node, the first one the worst.
Page page_of(const std::vector<std::string>& tensors) {
  Page page;
  page.analysis.images = 4;
  for (const std::string& tensor : tensors) {
    ErrorSource source;
    source.name = tensor;
    source.node = concat("node of ", tensor);
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
  for (std::size_t i = 0; i < names; ++i) list.push_back(concat(i, std::string(length, 'x')));
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
    EXPECT_EQ(count(html, markup), count(plain, markup)) << markup;
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
  page.analysis.sources[0].saturated_share = 1.0;  // a fault, which names it
  page.evaluation.int8.emplace();
  page.evaluation.outputs.emplace_back().name = page.analysis.sources[0].name;
  page.provenance = {{"command", page.analysis.sources[0].name}};
  EXPECT_LE(html_of(page).size(), kMaxPageBytes);
}

// Values from -2 to 6, of which a quarter are zeros.
TEST(Page, DrawsWhatTheStatisticsCounted) {
  Tensor values(DType::kFloat32, {1, 1, 1, 4});
  values.values<float>()[0] = -2.0F;
  values.values<float>()[1] = 0.0F;
  values.values<float>()[2] = 5.9F;
  values.values<float>()[3] = 6.0F;
  Collection collection;
  collection.tensors.emplace_back();
  collection.tensors[0].tensor = "a";
  collection.tensors[0].statistics.observe(values);
  Page page = page_of({"a", "b"});
  EXPECT_EQ(data_of(html_of(page)).at("statistics"), false);
  page.statistics = &collection;
  const Json data = data_of(html_of(page));
  EXPECT_EQ(data.at("statistics"), true);
  ASSERT_EQ(data.at("histograms").size(), 1U);
  const Json& histogram = data.at("histograms").at(0);
  EXPECT_EQ(histogram.at("tensor"), "a");
  EXPECT_EQ(histogram.at("lower"), -2.0);
  EXPECT_EQ(histogram.at("upper"), 6.0);
  EXPECT_EQ(histogram.at("zeros"), 1);
  const std::vector<std::int64_t> counts = histogram.at("counts");
  EXPECT_EQ(counts.front(), 1);
  EXPECT_EQ(counts.back(), 2);
  page.analysis.sources[0].scaled = true;  // its range is of the divided tensor
  EXPECT_TRUE(data_of(html_of(page)).at("histograms").empty());
}

// The strip follows the network, not the errors; times go with it.
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

}  // namespace
}  // namespace qtool
