#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "qtool/analyze/analyze.h"
#include "qtool/compare/evaluate.h"
#include "report/page/baseline.h"
#include "report/preprocessing.h"
#include "report/suggestions.h"
#include "report/text_table.h"

namespace qtool {

/// The `most` largest error sources as text for people; 0 means all sources.
std::string text_of(const AnalyzeResult& result, std::size_t most, std::size_t width = kAnyWidth);
/// All error sources as JSON for programs, in the form that render.h describes. `suggestions` is
/// present if changes were tried; `commands` make the model, for the lines of the suggestions.
/// `compared`: what the answers of both models are, if it was asked for. `change`: the difference
/// to an earlier report, as `baseline`.
std::string json_of(const AnalyzeResult& result, const std::optional<SourcedPreprocess>& preprocess,
                    const std::optional<SuggestResult>& suggestions = std::nullopt,
                    const MakingCommands& commands = {}, const EvalResult* compared = nullptr,
                    const std::optional<ReportChange>& change = std::nullopt);

}  // namespace qtool
