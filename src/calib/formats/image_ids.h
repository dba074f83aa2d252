#pragma once

#include <cstdint>
#include <vector>

#include "json/json.h"

namespace qtool {

/// The contents of the observed samples (CalibrationTable::image_ids) as JSON: an array of 16
/// hexadecimal digits each.
nlohmann::ordered_json image_ids_to_json(const std::vector<std::uint64_t>& ids);

/// Reads such an array. Throws Error with the code of the field unless it has `count` sorted ids, 1
/// to kMaxImageIds.
std::vector<std::uint64_t> image_ids_of(const JsonField& field, std::int64_t count);

}  // namespace qtool
