#include "report/page/baseline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "base/percent.h"
#include "base/text.h"
#include "compare/output_noise.h"
#include "json/json.h"
#include "report/suggestions.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

constexpr double kWorthNaming = 0.01;  // of the noise
constexpr std::size_t kMostChanges = 20;
constexpr double kMostNoise = std::numeric_limits<double>::max();

double share_in(double noise, double whole) { return whole > 0.0 ? noise / whole : 0.0; }

std::string share_or(const std::optional<double>& noise, double whole, std::string_view absent) {
  return noise ? percent(share_in(*noise, whole), 1) : std::string(absent);
}

bool differ(const std::optional<std::uint64_t>& a, const std::optional<std::uint64_t>& b) {
  return a && b && *a != *b;
}

}  // namespace

EarlierReport read_report(std::string_view text, std::string_view what) {
  const nlohmann::json document =
      parse_json(text, kMaxReportBytes, what, ErrorCode::kInvalidArgument);
  const JsonField field(document, std::string(what), ErrorCode::kInvalidArgument);
  if (!field.is_object() || !field.find("sources")) field.fail("the output of analyze --json");
  EarlierReport report;
  report.images = field.at("images").as_int(0, std::numeric_limits<std::int64_t>::max());
  report.noise = field.at("noise").as_double(0.0, kMostNoise);
  if (const auto hash = field.find("model_fingerprint")) report.model_fingerprint = hash->as_hex();
  if (const auto hash = field.find("samples_hash")) report.samples_hash = hash->as_hex();
  for (const JsonField& row : field.at("sources").elements()) {
    report.sources.push_back({row.at("name").as_string(), row.at("kind").as_string(),
                              row.at("noise").as_double(0.0, kMostNoise)});
  }
  return report;
}

ReportChange change_since(const EarlierReport& before, const AnalyzeResult& after) {
  ReportChange change{before.images, before.noise, after.noise, {}};
  if (differ(before.model_fingerprint, after.model_fingerprint)) {
    change.doubts.emplace_back("the earlier report is of another FP32 model");
  }
  if (differ(before.samples_hash, after.samples_hash)) {
    change.doubts.push_back(to_text("the earlier report is of other ", after.noun, "s"));
  }
  std::map<std::pair<std::string, std::string>, SourceChange> by_name;
  const auto row_of = [&](const std::string& name, const std::string& kind) -> SourceChange& {
    SourceChange& row = by_name[{name, kind}];
    row.name = name;
    row.kind = kind;
    return row;
  };
  for (const EarlierReport::Source& source : before.sources) {
    row_of(source.name, source.kind).before = source.noise;
  }
  for (const ErrorSource& source : after.sources) {
    row_of(source.name, std::string(name_of(source.kind))).after = source.noise;
  }
  const double least = kWorthNaming * std::max(before.noise, after.noise);
  const auto moved = [](const SourceChange& row) {
    return std::abs(row.after.value_or(0.0) - row.before.value_or(0.0));
  };
  for (auto& [key, row] : by_name) {
    if (moved(row) > 0.0 && moved(row) >= least) change.sources.push_back(std::move(row));
  }
  std::ranges::stable_sort(change.sources, [&](const SourceChange& a, const SourceChange& b) {
    return moved(a) > moved(b);
  });
  return change;
}

std::string text_of(const ReportChange& change, std::string_view noun, std::size_t width) {
  const double before = noise_decibels(change.noise_before);
  const double after = noise_decibels(change.noise_after);
  std::string text = to_text("against the earlier report (", change.images_before, " ", noun,
                             change.images_before == 1 ? "" : "s", "): pooled SQNR ",
                             to_fixed(before, 2), " dB before, ", to_fixed(after, 2), " dB now, ",
                             to_signed_fixed(after - before, 2), " dB\n");
  for (const std::string& doubt : change.doubts) text += to_text(doubt, "\n");
  if (change.sources.empty()) return to_text(text, "no source changed by 1 % of the noise\n");
  TextTable table({{"source that changed"},
                   {"kind", Kind::kText, 1},
                   {"before", Kind::kNumber},
                   {"now", Kind::kNumber}});
  const std::size_t shown = std::min(change.sources.size(), kMostChanges);
  for (std::size_t i = 0; i < shown; ++i) {
    const SourceChange& row = change.sources[i];
    table.add({row.name, row.kind, share_or(row.before, change.noise_before, "new"),
               share_or(row.after, change.noise_after, "gone")});
  }
  text += to_text("\n", table.to_string(width));
  if (shown < change.sources.size()) {
    text += to_text(change.sources.size() - shown, " more with a smaller change\n");
  }
  return text;
}

nlohmann::ordered_json json_of(const ReportChange& change) {
  Json json{{"images", change.images_before},
            {"noise", {{"before", change.noise_before}, {"after", change.noise_after}}},
            {"pooled_sqnr_db",
             {{"before", noise_decibels(change.noise_before)},
              {"after", noise_decibels(change.noise_after)}}},
            {"doubts", change.doubts},
            {"sources", Json::array()}};
  const auto share = [](const std::optional<double>& noise, double whole) {
    return noise ? Json(share_in(*noise, whole)) : Json();
  };
  for (const SourceChange& row : change.sources) {
    json["sources"].push_back({{"name", row.name},
                               {"kind", row.kind},
                               {"before", share(row.before, change.noise_before)},
                               {"after", share(row.after, change.noise_after)}});
  }
  return json;
}

}  // namespace qtool
