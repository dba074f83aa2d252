#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "report/preprocessing.h"

namespace qtool {

/// {"source": ..., "changed": {"channels": "--channels"}, "used": the form of a preprocessing
/// file}; null for samples that are no images.
nlohmann::ordered_json json_of(const std::optional<SourcedPreprocess>& sourced);

}  // namespace qtool
