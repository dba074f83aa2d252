#pragma once

#include <nlohmann/json.hpp>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// The number of changes that were tried and the changes that are worthwhile: {"sqnr_db": ...,
/// "list": [{"command": "quantize", "options": ["--exclude", "conv1"], "gain_db": ..., ...}]}.
nlohmann::ordered_json json_of(const SuggestResult& result);

}  // namespace qtool
