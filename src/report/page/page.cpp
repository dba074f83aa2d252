#include "report/page/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/printable.h"
#include "base/text.h"
#include "qtool/quantize/coverage.h"
#include "report/analysis.h"
#include "report/evaluation.h"
#include "report/page/page_charts.h"
#include "report/page/page_size.h"
#include "report/page/page_template.h"
#include "report/page/verdict.h"
#include "report/set_check.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPlace = "QTOOL_PAGE_DATA";
/// Rows of each list about the samples that set the ranges.
constexpr std::size_t kSetRows = 10;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t used = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < used ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= used ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

Json worst_json(const std::vector<WorstImage>& images) {
  Json list = Json::array();
  for (const WorstImage& image : images) {
    Json row{{"path", printable(image.path)},
             {"flipped", image.flipped},
             {"sqnr_db", image.sqnr_db},
             {"label", printable(image.label)},
             {"fp32", printable(image.answers[0])},
             {"int8", printable(image.answers[1])},
             {"drawn", image.drawn},
             {"differing", image.differing}};
    if (!image.jpeg.empty()) row["jpeg"] = base64(image.jpeg);
    list.push_back(std::move(row));
  }
  return list;
}

/// The nodes that have a source of error, in the network's order. The empty name stands for the
/// inputs of the network.
Json strip_of(const Page& page) {
  std::unordered_set<std::string_view> with_error;
  for (const ErrorSource& source : page.analysis.sources) with_error.insert(source.node);
  Json strip = Json::array();
  if (with_error.contains("")) strip.push_back("");
  for (const std::string& node : page.nodes) {
    if (with_error.contains(node)) strip.push_back(node);
  }
  return strip;
}

/// The seconds that the steps of each node of the strip take, in FP32 and INT8; null for a node
/// that runs as a part of another node's step.
Json latency_of(const Page& page, const Json& strip) {
  const auto by_node = [](const PlanProfile& profile) {
    std::unordered_map<std::string_view, double> seconds;
    for (const StepTime& step : profile.steps) seconds[step.step.node] += step.seconds;
    return seconds;
  };
  const auto fp32 = by_node(page.latency.fp32);
  const PlanProfile int8_profile = page.latency.int8.value_or(PlanProfile{});
  const auto int8 = by_node(int8_profile);
  Json nodes = Json::array();
  for (const Json& node : strip) {
    const std::string& name = node.get_ref<const std::string&>();
    const auto seconds = [&](const auto& of) {
      const auto found = of.find(name);
      return found == of.end() ? Json() : Json(found->second);
    };
    nodes.push_back(Json::array({seconds(fp32), seconds(int8)}));
  }
  return {{"threads", page.latency.threads},
          {"repeat", page.latency.repeat},
          {"fp32_seconds", page.latency.fp32.median_seconds},
          {"int8_seconds", int8_profile.median_seconds},
          {"nodes", std::move(nodes)}};
}

Coverage coverage_of_page(const Page& page) {
  std::vector<StepInfo> steps;
  if (page.latency.int8) {
    for (const StepTime& step : page.latency.int8->steps) steps.push_back(step.step);
  }
  return coverage_of(steps);
}

Json verdict_json(const Page& page) {
  const std::optional<Advice> advice = advice_of(page);
  if (!advice) return {};
  const Verdict verdict =
      verdict_of(*advice, page.evaluation, page.suggestions ? &*page.suggestions : nullptr,
                 page.commands, page.next, page.searched ? &*page.searched : nullptr);
  return {{"name", verdict.name},
          {"step", name_of(advice->step)},
          {"heading", printable(verdict.heading)},
          {"figure", printable(verdict.figure)},
          {"why", printable(verdict.why)},
          {"next", printable(verdict.next)},
          {"lines", verdict.lines}};
}

// The samples that set the ranges: the figures of `qtool images`, and the first rows of its lists.
Json set_json(const std::optional<CheckedSet>& set) {
  if (!set) return {};
  Json json = Json::parse(json_of(set->check, set->samples));
  json["noun"] = set->samples.noun();
  json["tensors_checked"] = json["tensors"].size();
  for (const char* list : {"tensors", "widen_alone", "near_duplicates"}) {
    Json& rows = json[list];
    const std::size_t all = rows.size();
    if (all > kSetRows) rows.get_ref<Json::array_t&>().resize(kSetRows);
    json[to_text("all_", list)] = all;  // a new key, which moves `rows`
  }
  for (const char* list : {"left_out", "passed_over"}) json.erase(list);
  return json;
}

Json figures_of(const Page& page) {
  const Coverage coverage = coverage_of_page(page);
  Json figures;
  figures["analysis"] = Json::parse(json_of(page.analysis, page.preprocess, page.suggestions,
                                            page.commands, nullptr, page.change));
  for (Json& source : figures["analysis"]["sources"]) {
    for (const char* drawn : {"channel_ranges", "weight_channels"}) source.erase(drawn);
  }
  figures["verdict"] = verdict_json(page);
  figures["set"] = set_json(page.set);
  figures["noun"] = page.analysis.noun;
  figures["evaluation"] = Json::parse(json_of(page.evaluation, page.preprocess));
  // The rows of single images and classes are left out, because there may be any number of them.
  // They are in the output of --json and in CSV files.
  for (const char* list : {"top1_by_class", "confusions"}) figures["evaluation"].erase(list);
  // The files that were not used are those of the analysis.
  for (const char* list : {"left_out", "passed_over"}) figures["evaluation"].erase(list);
  if (page.suggestions) figures["analysis"]["suggestions"].erase("left_out");
  figures["unused_files"] =
      static_cast<std::int64_t>(page.analysis.bad.size()) + page.analysis.passed_over.count;
  Json& flips = figures["evaluation"]["flips"];
  const std::size_t flipped = flips.size();
  flips = flipped;
  figures["doubts"] = page.evaluation.doubts();
  figures["bytes"] = {{"fp32", page.fp32_bytes}, {"int8", page.int8_bytes}};
  figures["macs"] = {{"all", coverage.macs}, {"integer", coverage.integer_macs}};
  figures["strip"] = strip_of(page);
  figures["latency"] = latency_of(page, figures["strip"]);
  figures["provenance"] = Json::array();
  for (const auto& [what, value] : page.provenance) {
    figures["provenance"].push_back(Json::array({what, printable(value)}));
  }
  figures.update(charts_of(page.analysis));
  figures["drawings_left_out"] = false;
  figures["worst"] = worst_json(page.worst);
  figures["sources_left_out"] = 0;
  return figures;
}

}  // namespace

std::optional<Advice> advice_of(const Page& page) {
  const EvalResult& compared = page.evaluation;
  if (!compared.int8 || compared.images == 0) return std::nullopt;
  const FirstFigures figures{.calibrated_on = page.calibrated_on,
                             .assumed = page.preprocess ? page.preprocess->assumed : "",
                             .functions_left = page.functions_left,
                             .integer_share = coverage_of_page(page).integer_share(),
                             .compared = compared};
  return advise(figures);
}

std::string html_of(const Page& page) {
  const std::size_t place = kPageTemplate.find(kPlace);
  QTOOL_CHECK(place != std::string_view::npos);
  const std::string block = block_within(kMaxPageBytes - kPageTemplate.size(), figures_of(page));
  std::string html(kPageTemplate.substr(0, place));
  html += block;
  html += kPageTemplate.substr(place + kPlace.size());
  return html;
}

}  // namespace qtool
