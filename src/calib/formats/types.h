#pragma once

#include <string_view>

#include "json/json.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The types that a user chose, as the object `types` of a table. Keys that are not set are absent.
nlohmann::ordered_json types_to_json(const TypeChoices& types);
TypeChoices types_of(const JsonField& field);

/// The words for one scale per tensor and for one scale per channel.
inline constexpr std::string_view kPerTensor = "per-tensor";
inline constexpr std::string_view kPerChannel = "per-channel";

/// A scale: a positive, normal number. Throws Error with the code of the field.
float scale_of(const JsonField& field);
/// A range that holds 0, as an array of its two ends. Throws Error with the code of the field.
Range range_of(const JsonField& field);

}  // namespace qtool
