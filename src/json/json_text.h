#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace qtool {

/// The text that the commands print under --json. Names come from files and need not be valid
/// UTF-8.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// `value`, or null if it is infinite or NaN, which JSON does not have.
inline nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace qtool
