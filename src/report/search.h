#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "qtool/search/search.h"
#include "report/preprocessing.h"
#include "report/text_table.h"

namespace qtool {

/// `20 dB or more`, `99 % agreement or more`, `0.5 points of top-1 lost or fewer`.
std::string text_of(const SearchGoal& goal);
/// A model in one line: what the goal counts, multiplications on integers, nodes in FP32.
std::string text_of(const SearchPoint& point, const SearchGoal& goal);
/// What the search will cost, before it begins: one sentence.
std::string text_of(const SearchCost& cost, int threads);

/// The answer, the frontier and what was spent, for people.
std::string text_of(const SearchResult& result, std::size_t width = kAnyWidth);
/// The same for programs, as render.h says, with the nodes of every model of the frontier.
std::string json_of(const SearchResult& result, const std::optional<SourcedPreprocess>& preprocess);

}  // namespace qtool
