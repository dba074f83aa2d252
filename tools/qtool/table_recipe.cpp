#include "table_recipe.h"

#include <utility>

#include "base/text.h"
#include "qtool/graph/onnx.h"
#include "table_file.h"

namespace qtool::tool {

TableRecipe recipe_of_table(const Model& fp32, const std::string& table, const Overrides& overrides,
                            StaticOptions options) {
  const Graph& prepared = fp32.executor->graph();
  TableRecipe made;
  Recipe& recipe = made.recipe;
  recipe.table = read_table_file(table, "", read_layer_names("", &prepared)).table;
  if (!has_provenance(recipe.table)) require_known_tensors(recipe.table, fp32.loaded, prepared);
  if (recipe.table.preprocess && has_provenance(recipe.table)) {
    made.preprocess = {*recipe.table.preprocess, concat("table '", table, "'")};
  } else {
    made.preprocess = fp32.stored_preprocess();
  }
  recipe.options = std::move(options);
  recipe.options.exclude = overrides.exclude;
  recipe.options.wide = overrides.wide;
  recipe.options.model_fingerprint = fingerprint(fp32.loaded);
  apply_overrides(overrides, chosen_target(recipe.table, recipe.options).activations, nullptr,
                  recipe.table);
  return made;
}

}  // namespace qtool::tool
