#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/analyze/analyze.h"

namespace qtool {

inline constexpr std::int64_t kMaxReportBytes = std::int64_t{1} << 26;

/// What an earlier `analyze --json` found. Noise is that of AnalyzeResult.
struct EarlierReport {
  struct Source {
    std::string name;
    std::string kind;  ///< as name_of(SourceKind) gives it
    double noise = 0.0;
  };
  std::int64_t images = 0;
  double noise = 0.0;
  /// As in AnalyzeResult; nullopt for a report that does not have them.
  std::optional<std::uint64_t> model_fingerprint{};
  std::optional<std::uint64_t> samples_hash{};
  std::vector<Source> sources;
};

/// Reads the output of `analyze --json`. It is untrusted. Throws Error(kInvalidArgument), which
/// begins with `what`, where it is something else.
EarlierReport read_report(std::string_view text, std::string_view what);

/// The noise of a source in the earlier and in the new report, nullopt where it is not a source.
struct SourceChange {
  std::string name;
  std::string kind;
  std::optional<double> before{};
  std::optional<double> after{};
};

/// The difference between an earlier report and a new one.
struct ReportChange {
  std::int64_t images_before = 0;
  double noise_before = 0.0;
  double noise_after = 0.0;
  /// Sources whose noise changed by 1 % or more of the larger of the two noises, the largest change
  /// first.
  std::vector<SourceChange> sources;
  /// Sentences that say why the reports cannot be compared.
  std::vector<std::string> doubts{};
};
ReportChange change_since(const EarlierReport& before, const AnalyzeResult& after);

/// The figures before and after, and at most 20 sources, for people.
std::string text_of(const ReportChange& change, std::string_view noun, std::size_t width);
/// {"images", "noise": {"before", "after"}, "pooled_sqnr_db": {"before", "after"}, "doubts",
/// "sources": [{"name", "kind", "before", "after"}]} with the shares that the sources have in the
/// noise of the reports; null where it is no source.
nlohmann::ordered_json json_of(const ReportChange& change);

}  // namespace qtool
