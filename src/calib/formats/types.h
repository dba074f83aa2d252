#pragma once

#include "json/json.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The types that a user chose, as the object `types` of a table. Keys that are not set are absent.
nlohmann::ordered_json types_to_json(const TypeChoices& types);
TypeChoices types_of(const JsonField& field);

}  // namespace qtool
