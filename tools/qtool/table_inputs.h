#pragma once

#include <optional>
#include <string>

#include "model.h"
#include "qtool/pipeline/make_model.h"

namespace qtool::tool {

/// What `qtool quantize --table` makes a model from.
struct TableInputs {
  StaticInputs inputs;
  std::optional<StoredPreprocess> preprocess;  ///< of the table, or else of the model
};

/// Reads the table of `fp32`, and joins it with `recipe` as inputs_of_table() does. Throws as that
/// and reading a table do.
TableInputs inputs_of_table_file(const Model& fp32, const std::string& table, const Recipe& recipe,
                                 const MakeOptions& options);

}  // namespace qtool::tool
