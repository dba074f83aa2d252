#include "report/analysis.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/answers_json.h"
#include "report/evaluation.h"
#include "report/preprocessing_json.h"
#include "report/samples.h"
#include "report/samples_json.h"
#include "report/suggestions_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

constexpr std::size_t kMaxLayers = 10;

std::string decibels(const std::optional<double>& value) {
  return value ? to_fixed(*value, 1) : "";
}

Json pair_of(const Range& range) { return {range.min, range.max}; }

Json json_of_source(const ErrorSource& source) {
  Json row{{"name", source.name},       {"kind", name_of(source.kind)}, {"node", source.node},
           {"op_type", source.op_type}, {"noise", source.noise},        {"sqnr_db", source.sqnr_db},
           {"share", source.share}};
  if (source.kind == SourceKind::kWeights) row["corrected_noise"] = source.corrected;
  if (!source.weight_channels.empty()) {
    row["depthwise"] = source.depthwise;
    row["weights_per_channel"] = source.filter;
    row["weight_channels"] = Json::array();
    for (const WeightChannel& channel : source.weight_channels) {
      row["weight_channels"].push_back(
          {{"range", pair_of(channel.reached)}, {"error_share", channel.error_share}});
    }
  }
  if (source.kind != SourceKind::kActivation) return row;
  row["local_sqnr_db"] = source.local_sqnr_db;
  row["accumulated_sqnr_db"] =
      source.accumulated_sqnr_db ? Json(*source.accumulated_sqnr_db) : Json();
  row["saturated_share"] = source.saturated_share;
  row["used_share"] = source.used_share;
  row["channels"] = source.channels;
  row["dead_channels"] = source.dead_channels;
  row["constant_channels"] = source.constant_channels;
  row["loudest_channel"] = source.loudest_channel;
  row["loudest_peak"] = source.loudest_peak;
  row["median_peak"] = source.median_peak;
  row["range"] = pair_of(source.range);
  row["seen"] = pair_of(source.seen);
  row["central"] = pair_of(source.central);
  row["scaled"] = source.scaled;
  if (source.channel_ranges.empty()) return row;
  row["channel_ranges"] = Json::array();
  for (const Range& reached : source.channel_ranges) {
    row["channel_ranges"].push_back(pair_of(reached));
  }
  return row;
}

std::string layers_text(const AnalyzeResult& result, std::size_t most, std::size_t width) {
  if (result.layers.empty() || !(result.noise > 0.0)) return "";
  TextTable table({{"layer"},
                   {"share", Kind::kNumber, 8},
                   {"weights", Kind::kNumber, 3},
                   {"bias", Kind::kNumber, 2},
                   {"activations", Kind::kNumber, 1},
                   {"corrected", Kind::kNumber, 4}});
  const std::size_t shown = std::min(most, result.layers.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerNoise& layer = result.layers[i];
    const auto share = [&](double noise) { return percent(noise / result.noise, 1); };
    table.add({printable(layer.node), share(layer.noise), share(layer.weights), share(layer.bias),
               share(layer.activations), layer.corrected > 0.0 ? share(layer.corrected) : ""});
  }
  std::string text = to_text("\n", table.to_string(width));
  if (shown < result.layers.size()) {
    text += to_text(result.layers.size() - shown, " more layers with less noise\n");
  }
  return text;
}

std::string sqnr_verdict(const AnalyzeResult& result) {
  std::string text = to_text("INT8 against FP32: pooled SQNR ", to_fixed(result.sqnr_db, 2), " dB");
  if (result.sqnr_interval_db) {
    const auto [low, high] = *result.sqnr_interval_db;
    text += to_text(" (95 % confidence: ", to_fixed(low, 2), " to ", to_fixed(high, 2), ")");
  }
  return to_text(text, " on ", result.images, " ", result.noun, "s\n");
}

/// The last line of the list of sources: the noise that all sources cause together beyond the sum
/// of the noise that each of them causes alone.
std::string remainder_of(const AnalyzeResult& result) {
  if (!(result.noise > 0.0)) return "";
  const double remainder = result.remainder();
  return to_text("all sources, each alone, ", percent(result.explained, 1), "; remainder ",
                 percent(remainder, 1),
                 remainder < 0.0 ? ": errors that cancel" : ": errors that add up in step", "\n");
}

}  // namespace

std::string text_of(const AnalyzeResult& result, std::size_t most, std::size_t width) {
  const std::size_t shown =
      most == 0 ? result.sources.size() : std::min(most, result.sources.size());
  TextTable table({{"what is rounded"},
                   {"kind", Kind::kText, 7},
                   {"operator", Kind::kText, 4},
                   {"share", Kind::kNumber, 8},
                   {"alone dB", Kind::kNumber, 6},
                   {"itself dB", Kind::kNumber, 3},
                   {"up to it dB", Kind::kNumber, 4},
                   {"saturated", Kind::kNumber, 2},
                   {"range used", Kind::kNumber, 1}});
  for (std::size_t i = 0; i < shown; ++i) {
    const ErrorSource& source = result.sources[i];
    const bool activation = source.kind == SourceKind::kActivation;
    table.add(
        {printable(source.name), std::string(name_of(source.kind)),
         printable(source.op_type.empty() ? "input" : source.op_type), percent(source.share, 1),
         to_fixed(source.sqnr_db, 1), activation ? to_fixed(source.local_sqnr_db, 1) : "",
         decibels(source.accumulated_sqnr_db), activation ? percent(source.saturated_share, 3) : "",
         activation ? percent(source.used_share, 0) : ""});
  }
  std::string text;
  for (const std::string& fault : result.faults()) text += to_text(printable(fault), "\n\n");
  text += to_text(sqnr_verdict(result), overlap_line(result.overlap), "\n", table.to_string(width));
  if (shown < result.sources.size()) {
    text += to_text(result.sources.size() - shown, " more with less noise\n");
  }
  text += to_text(remainder_of(result), layers_text(result, std::min(shown, kMaxLayers), width));
  if (!result.not_compared.empty()) {
    text +=
        to_text(result.not_compared.size(),
                " constants of the INT8 model have no counterpart in the FP32 model, the first: '",
                printable(result.not_compared.front()), "'\n");
  }
  return to_text(text, text_of(UnusedFiles{result.bad, result.passed_over}));
}

std::string json_of(const AnalyzeResult& result, const std::optional<SourcedPreprocess>& preprocess,
                    const std::optional<SuggestResult>& suggestions, const MakingCommands& commands,
                    const EvalResult* compared, const std::optional<ReportChange>& change) {
  Json json;
  json["images"] = result.images;
  if (result.model_fingerprint) json["model_fingerprint"] = to_hex(*result.model_fingerprint);
  if (result.samples_hash) json["samples_hash"] = to_hex(*result.samples_hash);
  json["overlap"] = overlap_json(result.overlap);
  json["preprocess"] = json_of(preprocess);
  json["pooled_sqnr_db"] = result.sqnr_db;
  json["noise"] = result.noise;
  json["pooled_sqnr_db_interval"] = interval_json(result.sqnr_interval_db);
  json["explained"] = result.explained;
  json["remainder"] = {{"noise", result.remainder() * result.noise}, {"share", result.remainder()}};
  json["outputs"] = Json::array();
  for (const AnalyzedOutput& output : result.outputs) {
    json["outputs"].push_back({{"output", output.name}, {"pooled_sqnr_db", output.sqnr_db}});
  }
  json["sources"] = Json::array();
  for (const ErrorSource& source : result.sources) {
    json["sources"].push_back(json_of_source(source));
  }
  json["layers"] = Json::array();
  for (const LayerNoise& layer : result.layers) {
    json["layers"].push_back({{"layer", layer.node},
                              {"layer_noise", layer.noise},
                              {"weights_noise", layer.weights},
                              {"bias_noise", layer.bias},
                              {"activations_noise", layer.activations},
                              {"corrected_noise", layer.corrected}});
  }
  json["faults"] = result.faults();
  if (compared != nullptr) json["evaluation"] = Json::parse(json_of(*compared, preprocess));
  if (suggestions) json["suggestions"] = json_of(*suggestions, commands);
  if (change) json["baseline"] = json_of(*change);
  json["not_compared"] = result.not_compared;
  add_unused({result.bad, result.passed_over}, json);
  return json_text(json);
}

}  // namespace qtool
