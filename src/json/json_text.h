#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace qtool {

/// What the commands print under --json. Names come from files and need not be valid UTF-8.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace qtool
