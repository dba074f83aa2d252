#include "report/analysis.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/percent.h"
#include "report/preprocessing_json.h"
#include "report/suggestions_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

std::string_view name_of(SourceKind kind) {
  return kind == SourceKind::kActivation ? "activation" : "weights";
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
                   {"saturated", Kind::kNumber, 2},
                   {"range used", Kind::kNumber, 1}});
  for (std::size_t i = 0; i < shown; ++i) {
    const ErrorSource& source = result.sources[i];
    const bool activation = source.kind == SourceKind::kActivation;
    table.add({printable(source.name), std::string(name_of(source.kind)),
               printable(source.op_type.empty() ? "input" : source.op_type),
               percent(source.share, 1), to_fixed(source.sqnr_db, 1),
               activation ? to_fixed(source.local_sqnr_db, 1) : "",
               activation ? percent(source.saturated_share, 3) : "",
               activation ? percent(source.used_share, 0) : ""});
  }
  std::string text;
  for (const std::string& fault : result.faults()) text += concat(printable(fault), "\n\n");
  text += concat("INT8 against FP32: ", to_fixed(result.sqnr_db, 2), " dB on ", result.images, " ",
                 result.noun, "s; the sources measured one by one add up to ",
                 percent(result.explained, 0), " of its noise\n\n", table.to_string(width));
  if (shown < result.sources.size()) {
    text += concat(result.sources.size() - shown, " more with less noise\n");
  }
  if (!result.not_compared.empty()) {
    text +=
        concat(result.not_compared.size(),
               " constants of the INT8 model have no counterpart in the FP32 model, the first: '",
               printable(result.not_compared.front()), "'\n");
  }
  return text;
}

std::string json_of(const AnalyzeResult& result, const std::optional<SourcedPreprocess>& preprocess,
                    const std::optional<SuggestResult>& suggestions) {
  Json json;
  json["images"] = result.images;
  json["preprocess"] = json_of(preprocess);
  json["sqnr_db"] = result.sqnr_db;
  json["noise"] = result.noise;
  json["explained"] = result.explained;
  json["sources"] = Json::array();
  for (const ErrorSource& source : result.sources) {
    Json row{{"name", source.name},   {"kind", name_of(source.kind)},
             {"node", source.node},   {"op_type", source.op_type},
             {"noise", source.noise}, {"sqnr_db", source.sqnr_db},
             {"share", source.share}};
    if (source.kind == SourceKind::kActivation) {
      row["local_sqnr_db"] = source.local_sqnr_db;
      row["saturated_share"] = source.saturated_share;
      row["used_share"] = source.used_share;
      row["channels"] = source.channels;
      row["dead_channels"] = source.dead_channels;
      row["loudest_channel"] = source.loudest_channel;
      row["loudest_peak"] = source.loudest_peak;
      row["median_peak"] = source.median_peak;
      row["range"] = {source.range.min, source.range.max};
      row["seen"] = {source.seen.min, source.seen.max};
      row["scaled"] = source.scaled;
    }
    json["sources"].push_back(std::move(row));
  }
  json["layers"] = Json::array();
  for (const LayerNoise& layer : result.layers) {
    json["layers"].push_back({{"layer", layer.node}, {"layer_noise", layer.noise}});
  }
  json["faults"] = result.faults();
  if (suggestions) json["suggestions"] = json_of(*suggestions);
  json["not_compared"] = result.not_compared;
  json["bad_images"] = Json::array();
  for (const BadImage& bad : result.bad) {
    json["bad_images"].push_back({{"path", bad.path.string()}, {"reason", bad.reason}});
  }
  return json_text(json);
}

}  // namespace qtool
