#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "qtool/analyze/analyze.h"
#include "qtool/calib/overrides.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// How `qtool quantize --table` makes a model.
struct TableRecipe {
  Recipe recipe;
  std::optional<StoredPreprocess> preprocess;  ///< of the table, or else of the model
};

/// Reads the table of `fp32`, and adds to `options` what `overrides` and the model say. Throws as
/// reading a table and apply_overrides() do.
TableRecipe recipe_of_table(const Model& fp32, const std::string& table, const Overrides& overrides,
                            StaticOptions options);

}  // namespace qtool::tool
