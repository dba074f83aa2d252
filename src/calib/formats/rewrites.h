#pragma once

#include "json/json.h"
#include "qtool/calib/table.h"

namespace qtool {

/// The rewrites of a table, at least one, as JSON: {"names": ["equalize"], "fingerprint": "..."}.
nlohmann::ordered_json rewrites_to_json(const Rewrites& rewrites);
Rewrites rewrites_of(const JsonField& field);

}  // namespace qtool
