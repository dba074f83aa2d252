#include "table_inputs.h"

#include "base/text.h"
#include "qtool/calib/overrides.h"
#include "qtool/graph/onnx.h"
#include "table_file.h"

namespace qtool::tool {

TableInputs inputs_of_table(const Model& fp32, const std::string& table, const Recipe& recipe,
                            int threads) {
  const Graph& prepared = fp32.executor->graph();
  TableInputs made;
  CalibrationTable& read = made.inputs.table;
  read = read_table_file(table, "", read_layer_names("", &prepared)).table;
  if (!has_provenance(read)) require_known_tensors(read, fp32.loaded, prepared);
  if (read.preprocess && has_provenance(read)) {
    made.preprocess = {*read.preprocess, concat("table '", table, "'")};
  } else {
    made.preprocess = fp32.stored_preprocess();
  }
  StaticOptions& options = made.inputs.options;
  options = static_options(recipe);
  options.threads = threads;
  options.model_fingerprint = fingerprint(fp32.loaded);
  apply_overrides(recipe.overrides, chosen_target(read, options).activations, nullptr, read);
  return made;
}

}  // namespace qtool::tool
