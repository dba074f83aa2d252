#pragma once

#include <nlohmann/json.hpp>

#include "qtool/analyze/analyze.h"

namespace qtool {

/// What was tried and what is worth it: {"sqnr_db": ..., "list": [{"command": "quantize",
/// "options": ["--exclude", "conv1"], "gain_db": ..., ...}]}.
nlohmann::ordered_json json_of(const SuggestResult& result);

}  // namespace qtool
