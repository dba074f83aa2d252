#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "report/preprocessing.h"

namespace qtool {

/// {"source": ..., "changed": {"channels": "--channels"}, "used": ...}, where `used` has the form
/// of a preprocessing file. Null for samples that are not images.
nlohmann::ordered_json json_of(const std::optional<SourcedPreprocess>& sourced);

}  // namespace qtool
