#pragma once

#include "json/json.h"
#include "qtool/image/preprocess.h"

namespace qtool {

nlohmann::ordered_json preprocess_to_json(const Preprocess& preprocess);
/// Throws Error with the code of the field when a part of it is wrong.
Preprocess preprocess_of(const JsonField& field);

}  // namespace qtool
