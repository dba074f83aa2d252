#pragma once

#include <string>

#include "compare/diff/array_diff.h"
#include "report/text_table.h"

namespace qtool {

std::string text_of(const ArraysDiff& diff, const ArrayLimits& limits,
                    std::size_t width = kAnyWidth, ListLength length = ListLength::kFull);
std::string json_of(const ArraysDiff& diff, const ArrayLimits& limits);

}  // namespace qtool
