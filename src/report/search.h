#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "qtool/search/search.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

namespace qtool {

/// `20 dB or more`, `99 % agreement or more`, `0.5 points of top-1 lost or fewer`.
std::string text_of(const SearchGoal& goal);
/// All goals: `20 dB or more and 99 % agreement or more`.
std::string text_of(const std::vector<SearchGoal>& goals);
/// A model in one line: the figures that the goals limit, the multiplications on integers, and the
/// nodes in FP32.
std::string text_of(const SearchPoint& point, const std::vector<SearchGoal>& goals);
/// The expected cost of the search in one sentence, to be shown before it begins.
std::string text_of(const SearchCost& cost, int threads);

/// The answer, the frontier and the cost of the search, as text for people.
std::string text_of(const SearchResult& result, std::size_t width = kAnyWidth);
/// The result as JSON for programs, in the form that render.h describes, with the nodes of every
/// model of the frontier.
std::string json_of(const SearchResult& result, const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
