#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/next_step.h"
#include "analyze/set_check.h"
#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "qtool/compare/profile.h"
#include "qtool/samples/samples.h"
#include "report/first_model.h"
#include "report/page/baseline.h"
#include "report/page/worst_images.h"
#include "report/preprocessing.h"
#include "report/suggestions.h"

namespace qtool {

/// The check of the samples that set the ranges of an INT8 model.
struct CheckedSet {
  SetCheck check;
  Samples samples;
};

/// The contents of a page: an analysis, and other figures about the two models.
struct Page {
  AnalyzeResult analysis;
  std::optional<SourcedPreprocess> preprocess{};
  std::optional<SuggestResult> suggestions{};
  /// The number of samples that set the ranges of the INT8 model; nullopt if it is not known.
  std::optional<std::int64_t> calibrated_on{};
  std::int64_t functions_left = 0;        ///< see FirstFigures
  std::vector<CommandWords> next{};       ///< commands for the step that advise() names
  std::optional<FirstSearch> searched{};  ///< by `auto`, before the model was made
  MakingCommands commands{};  ///< that made the INT8 model, for the lines of the suggestions
  EvalResult evaluation;      ///< of both models on the same samples
  ProfileResult latency;      ///< of both models
  /// Bytes of all constants, see ModelSummary::parameter_bytes.
  std::int64_t fp32_bytes = 0;
  std::int64_t int8_bytes = 0;
  std::vector<std::string> nodes{};  ///< nodes of FP32 in order, named as in ErrorSource::node
  /// The origin of the figures for people: pairs of a label and a value.
  std::vector<std::pair<std::string, std::string>> provenance{};
  std::optional<CheckedSet> set{};
  std::optional<ReportChange> change{};  ///< since an earlier report
  std::vector<WorstImage> worst{};       ///< with pictures, see worst_images()
};

inline constexpr std::size_t kMaxPageBytes = 2'000'000;

/// The next step that the figures of the two models call for. nullopt without an INT8 model and
/// samples that were compared.
std::optional<Advice> advice_of(const Page& page);

/// One HTML file of at most kMaxPageBytes that needs no other file. Its figures are a block of
/// JSON: `analysis` and `evaluation`, both made by json_of(), and the other figures that the page
/// shows. Names are untrusted. The block has no `<` and only ASCII characters, so that no name can
/// end it, and the script shows names as text only. If the figures do not fit, the drawings of
/// the sources with the least noise are left out first, then all drawings and pictures, then the
/// sources with the least noise. The page says so. Cost: linear in the figures.
std::string html_of(const Page& page);

}  // namespace qtool
