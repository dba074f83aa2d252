#pragma once

#include <string>

#include "compare/diff/array_diff.h"
#include "report/text_table.h"

namespace qtool {

std::string text_of(const ArraysDiff& diff, const ArrayLimits& limits,
                    std::size_t width = kAnyWidth, ListLength length = ListLength::kFull);
/// The rank of a row in a short table: rows without a figure come first, then those beyond the
/// limits, then the others; each by their SQNR, the lowest first.
double rank_of(const ArrayDiff& diff, const ArrayLimits& limits);
std::string json_of(const ArraysDiff& diff, const ArrayLimits& limits);

}  // namespace qtool
