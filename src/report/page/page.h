#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/profile.h"
#include "report/page/worst_images.h"
#include "report/preprocessing.h"

namespace qtool {

/// What a page shows: an analysis, and what else is known of the two models.
struct Page {
  AnalyzeResult analysis;
  std::optional<SourcedPreprocess> preprocess{};
  std::optional<SuggestResult> suggestions{};
  EvalResult evaluation;  ///< of both models on the same samples
  ProfileResult latency;  ///< of both models
  /// Bytes of all constants, see ModelSummary::parameter_bytes.
  std::int64_t fp32_bytes = 0;
  std::int64_t int8_bytes = 0;
  std::vector<std::string> nodes{};  ///< of the FP32 network in its order, as ErrorSource::node
  /// What the figures come from, for people: what it is, and its value.
  std::vector<std::pair<std::string, std::string>> provenance{};
  std::vector<WorstImage> worst{};  ///< with pictures, see worst_images()
};

inline constexpr std::size_t kMaxPageBytes = 2'000'000;

/// One HTML file that needs nothing else, of at most kMaxPageBytes. Its figures are a block of
/// JSON: `analysis` as json_of() gives it, `evaluation` of EvalResult, and what else the page
/// shows. Names are untrusted: the block has neither `<` nor a character beyond ASCII, so that no
/// name can end it, and the script shows names as text only. Where the figures are too many,
/// drawings are left out first (channels, points, histograms, pictures), then the sources with the
/// least noise, and the page says so.
/// Cost: linear in the figures.
std::string html_of(const Page& page);

}  // namespace qtool
