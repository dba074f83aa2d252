#pragma once

#include <nlohmann/json.hpp>

#include "report/preprocessing.h"

namespace qtool {

/// {"source": ..., "changed": {"channels": "--channels"}, "used": the form of a preprocessing
/// file}.
nlohmann::ordered_json json_of(const SourcedPreprocess& sourced);

}  // namespace qtool
