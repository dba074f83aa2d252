#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "qtool/analyze/analyze.h"
#include "qtool/calib/overrides.h"
#include "qtool/quantize/quantize.h"

namespace qtool::tool {

/// The recipe by which `qtool quantize --table` makes a model.
struct TableRecipe {
  Recipe recipe;
  std::optional<StoredPreprocess> preprocess;  ///< from the table, or else from the model
};

/// Reads the table of `fp32`, applies `overrides` to the table and to `options`, and adds the
/// model's fingerprint to `options`. Throws as read_table_file() and apply_overrides() do.
TableRecipe recipe_of_table(const Model& fp32, const std::string& table, const Overrides& overrides,
                            StaticOptions options);

}  // namespace qtool::tool
