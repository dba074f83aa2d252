#include "report/page/page_charts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

/// Points are drawn on a grid with this number of steps per axis.
constexpr double kGrid = 1000.0;
/// A layer with more channels has several of them in a bar.
constexpr std::size_t kMostBars = 256;

/// Histograms with bins of equal width. Empty bins at both ends are left out.
Json histograms_of(const std::vector<ErrorSource>& sources) {
  Json histograms = Json::array();
  for (const ErrorSource& source : sources) {
    const std::vector<std::int64_t>& counts = source.levels.counts;
    const auto filled = [](std::int64_t count) { return count > 0; };
    const auto first = std::ranges::find_if(counts, filled);
    if (first == counts.end()) continue;
    const auto end = std::find_if(counts.rbegin(), counts.rend(), filled).base();
    const auto skipped = static_cast<double>(first - counts.begin());
    histograms.push_back({{"tensor", source.name},
                          {"lower", source.levels.first + skipped * source.levels.width},
                          {"step", source.levels.width},
                          {"counts", std::vector<std::int64_t>(first, end)}});
  }
  return histograms;
}

std::int64_t place(float value, double low, double high) {
  if (!(high > low)) return 0;
  const double part = (static_cast<double>(value) - low) / (high - low);
  return static_cast<std::int64_t>(std::clamp(part, 0.0, 1.0) * kGrid);
}

/// Points as whole numbers on one grid for both models: fp32, int8, fp32, int8, ...
Json points_of(std::string_view what, const std::string& name,
               const std::vector<ValuePair>& pairs) {
  Range range{std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  for (const ValuePair& pair : pairs) {
    if (!std::isfinite(pair.fp32) || !std::isfinite(pair.int8)) continue;
    range.min = std::min({range.min, pair.fp32, pair.int8});
    range.max = std::max({range.max, pair.fp32, pair.int8});
  }
  Json points = Json::array();
  for (const ValuePair& pair : pairs) {
    if (!std::isfinite(pair.fp32) || !std::isfinite(pair.int8)) continue;
    for (const float value : {pair.fp32, pair.int8}) {
      points.push_back(
          place(value, static_cast<double>(range.min), static_cast<double>(range.max)));
    }
  }
  return {{what, name}, {"range", {range.min, range.max}}, {"points", std::move(points)}};
}

Json scatter_of(const AnalyzeResult& analysis) {
  Json scatter = Json::array();
  for (const AnalyzedOutput& output : analysis.outputs) {
    if (!output.pairs.empty()) scatter.push_back(points_of("output", output.name, output.pairs));
  }
  for (const ErrorSource& source : analysis.sources) {
    if (!source.pairs.empty()) scatter.push_back(points_of("tensor", source.name, source.pairs));
  }
  return scatter;
}

/// The channel ranges of each source that has them, as whole numbers on a grid: low, high, low,
/// high, ...
Json channels_of(const std::vector<ErrorSource>& sources) {
  Json all = Json::array();
  for (const ErrorSource& source : sources) {
    Range range;
    for (const Range& reached : source.channel_ranges) {
      range = {std::min(range.min, reached.min), std::max(range.max, reached.max)};
    }
    Json ends = Json::array();
    for (const Range& reached : source.channel_ranges) {
      for (const float end : {reached.min, reached.max}) {
        ends.push_back(place(end, static_cast<double>(range.min), static_cast<double>(range.max)));
      }
    }
    if (ends.empty()) continue;
    all.push_back(
        {{"tensor", source.name}, {"range", {range.min, range.max}}, {"ends", std::move(ends)}});
  }
  return all;
}

// The weights of each layer: for each output channel, or for several of them where there are many,
// the ends of its range on a grid and its share of the rounding error, in thousandths.
Json weights_of(const std::vector<ErrorSource>& sources) {
  Json all = Json::array();
  for (const ErrorSource& source : sources) {
    const std::vector<WeightChannel>& channels = source.weight_channels;
    if (source.kind != SourceKind::kWeights || channels.empty()) continue;
    const std::size_t per_bar = (channels.size() + kMostBars - 1) / kMostBars;
    Range whole;
    std::size_t worst = 0;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      whole = {std::min(whole.min, channels[c].reached.min),
               std::max(whole.max, channels[c].reached.max)};
      if (channels[c].error_share > channels[worst].error_share) worst = c;
    }
    Json ends = Json::array();
    Json errors = Json::array();
    for (std::size_t begin = 0; begin < channels.size(); begin += per_bar) {
      Range range;
      double error = 0.0;
      for (std::size_t c = begin; c < std::min(begin + per_bar, channels.size()); ++c) {
        range = {std::min(range.min, channels[c].reached.min),
                 std::max(range.max, channels[c].reached.max)};
        error += channels[c].error_share;
      }
      for (const float end : {range.min, range.max}) {
        ends.push_back(place(end, static_cast<double>(whole.min), static_cast<double>(whole.max)));
      }
      errors.push_back(static_cast<std::int64_t>(std::clamp(error, 0.0, 1.0) * kGrid));
    }
    all.push_back({{"layer", source.name},
                   {"channels", channels.size()},
                   {"filter", source.filter},
                   {"depthwise", source.depthwise},
                   {"per_bar", per_bar},
                   {"range", {whole.min, whole.max}},
                   {"ends", std::move(ends)},
                   {"errors", std::move(errors)},
                   {"worst", worst},
                   {"worst_share", channels[worst].error_share}});
  }
  return all;
}

}  // namespace

nlohmann::ordered_json charts_of(const AnalyzeResult& analysis) {
  return {{"histograms", histograms_of(analysis.sources)},
          {"scatter", scatter_of(analysis)},
          {"channels", channels_of(analysis.sources)},
          {"weights", weights_of(analysis.sources)}};
}

}  // namespace qtool
