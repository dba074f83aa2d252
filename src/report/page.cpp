#include "report/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/printable.h"
#include "calib/statistics.h"
#include "qtool/quantize/coverage.h"
#include "report/analysis.h"
#include "report/page/page_template.h"
#include "report/render.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPlace = "QTOOL_PAGE_DATA";
constexpr std::int64_t kBins = 64;

/// Bins of equal width over all values that were seen; zeros are counted apart.
Json histogram_of(const std::string& tensor, const FloatHistogram& histogram) {
  const double lower = histogram.min();
  const double upper = histogram.max();
  std::vector<std::int64_t> bins(static_cast<std::size_t>(kBins));
  const std::vector<std::int64_t> cells = histogram.cells();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double cell = static_cast<double>(histogram.first_cell()) + static_cast<double>(i);
    const double place = ((cell + 0.5) * histogram.cell_width() - lower) / (upper - lower);
    const double bin = std::clamp(place, 0.0, 1.0) * static_cast<double>(kBins);
    bins[static_cast<std::size_t>(std::min(static_cast<std::int64_t>(bin), kBins - 1))] += cells[i];
  }
  return {{"tensor", tensor},
          {"lower", lower},
          {"upper", upper},
          {"zeros", histogram.zeros()},
          {"counts", bins}};
}

Json histograms_of(const Page& page) {
  Json histograms = Json::array();
  if (page.statistics == nullptr) return histograms;
  std::unordered_set<std::string_view> wanted;
  for (const ErrorSource& source : page.analysis.sources) {
    // Statistics are of the tensor as it is, ranges of what it is divided to.
    const bool comparable = source.kind == SourceKind::kActivation && !source.scaled;
    if (comparable) wanted.insert(source.name);
  }
  for (const TensorStatistics& tensor : page.statistics->tensors) {
    const FloatHistogram& histogram = tensor.statistics.histogram();
    if (wanted.contains(tensor.tensor) && histogram.max() > histogram.min()) {
      histograms.push_back(histogram_of(tensor.tensor, histogram));
    }
  }
  return histograms;
}

/// The nodes that have a source of error, in the network's order; `` stands for its inputs.
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

/// Seconds of the steps of each node of the strip, in FP32 and INT8; null for what runs as a part
/// of another node's step.
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

Json figures_of(const Page& page) {
  std::vector<StepInfo> steps;
  if (page.latency.int8) {
    for (const StepTime& step : page.latency.int8->steps) steps.push_back(step.step);
  }
  const Coverage coverage = coverage_of(steps);
  Json figures;
  figures["analysis"] = Json::parse(json_of(page.analysis, page.preprocess, page.suggestions));
  figures["noun"] = page.analysis.noun;
  figures["evaluation"] = Json::parse(json_of(page.evaluation, page.preprocess));
  figures["doubts"] = page.evaluation.doubts();
  figures["bytes"] = {{"fp32", page.fp32_bytes}, {"int8", page.int8_bytes}};
  figures["macs"] = {{"all", coverage.macs}, {"integer", coverage.integer_macs}};
  figures["strip"] = strip_of(page);
  figures["latency"] = latency_of(page, figures["strip"]);
  figures["provenance"] = Json::array();
  for (const auto& [what, value] : page.provenance) {
    figures["provenance"].push_back(Json::array({what, printable(value)}));
  }
  figures["statistics"] = page.statistics != nullptr;
  figures["histograms"] = histograms_of(page);
  figures["sources_left_out"] = 0;
  return figures;
}

/// At most `most` of everything that there is one of for each tensor or node. None at all: nothing
/// that holds names either.
void keep(std::size_t most, Json& figures) {
  Json& analysis = figures["analysis"];
  const auto shorten = [most](Json& list) {
    if (list.size() > most) list.get_ref<Json::array_t&>().resize(most);
  };
  const std::size_t before = analysis["sources"].size();
  for (const char* list : {"sources", "layers", "not_compared", "bad_images"}) {
    shorten(analysis[list]);
  }
  shorten(figures["strip"]);
  shorten(figures["latency"]["nodes"]);
  const std::int64_t left_out = figures["sources_left_out"].get<std::int64_t>();
  figures["sources_left_out"] =
      left_out + static_cast<std::int64_t>(before - analysis["sources"].size());
  if (most > 0) return;
  analysis.erase("suggestions");
  analysis["faults"] = Json::array();
  figures["evaluation"]["outputs"] = Json::array();
  figures["evaluation"]["left_out"] = Json::array();
  figures["provenance"] = Json::array();
  figures["doubts"] = Json::array();
}

/// JSON that contains nothing with a meaning in HTML.
std::string block_of(const Json& figures) {
  const std::string text = figures.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string block;
  block.reserve(text.size());
  for (const char c : text) {  // these characters occur within strings only
    switch (c) {
      case '<':
        block += "\\u003c";
        break;
      case '>':
        block += "\\u003e";
        break;
      case '&':
        block += "\\u0026";
        break;
      default:
        block += c;
    }
  }
  return block;
}

}  // namespace

std::string html_of(const Page& page) {
  const std::size_t place = kPageTemplate.find(kPlace);
  QTOOL_CHECK(place != std::string_view::npos);
  Json figures = figures_of(page);
  std::string block = block_of(figures);
  const std::size_t room = kMaxPageBytes - kPageTemplate.size();
  std::size_t most = figures["analysis"]["sources"].size();
  if (block.size() > room) {
    figures["histograms"] = Json::array();
    block = block_of(figures);
  }
  while (block.size() > room && most > 0) {
    most /= 2;
    keep(most, figures);
    block = block_of(figures);
  }
  std::string html(kPageTemplate.substr(0, place));
  html += block;
  html += kPageTemplate.substr(place + kPlace.size());
  return html;
}

}  // namespace qtool
