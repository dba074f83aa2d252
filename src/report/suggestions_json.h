#pragma once

#include <nlohmann/json.hpp>

#include "qtool/analyze/analyze.h"
#include "report/suggestions.h"

namespace qtool {

/// The number of changes that were tried and the changes that are worthwhile: {"sqnr_db": ...,
/// "list": [{"command": "quantize", "options": ["--exclude", "conv1"], "line": "qtool quantize
/// ...", "complete": true, "gain_db": ..., ...}]}. `line` and `complete` are those of line_of().
nlohmann::ordered_json json_of(const SuggestResult& result, const MakingCommands& commands);

}  // namespace qtool
