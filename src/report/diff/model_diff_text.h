#pragma once

#include <string>

#include "compare/diff/model_diff.h"
#include "report/text_table.h"

namespace qtool {

std::string text_of(const ModelDiff& diff, const ModelLimits& limits, std::size_t width = kAnyWidth,
                    ListLength length = ListLength::kFull);
std::string json_of(const ModelDiff& diff, const ModelLimits& limits);

}  // namespace qtool
