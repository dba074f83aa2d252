#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "qtool/pipeline/recipe.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// What `qtool quantize --table` makes a model from.
struct TableInputs {
  StaticInputs inputs;
  std::optional<StoredPreprocess> preprocess;  ///< of the table, or else of the model
};

/// Reads the table of `fp32`, and joins it with what `recipe` says. Throws as reading a table and
/// apply_overrides() do.
TableInputs inputs_of_table(const Model& fp32, const std::string& table, const Recipe& recipe,
                            int threads);

}  // namespace qtool::tool
