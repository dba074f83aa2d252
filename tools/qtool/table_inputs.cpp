#include "table_inputs.h"

#include <utility>

#include "base/text.h"
#include "table_file.h"

namespace qtool::tool {

TableInputs inputs_of_table_file(const Model& fp32, const std::string& table, const Recipe& recipe,
                                 const MakeOptions& options) {
  CalibrationTable read =
      read_table_file(table, "", read_layer_names("", &fp32.executor->graph())).table;
  if (!has_provenance(read)) require_known_tensors(read, fp32.loaded, fp32.executor->graph());
  TableInputs made;
  if (read.preprocess && has_provenance(read)) {
    made.preprocess = {*read.preprocess, to_text("table '", table, "'")};
  } else {
    made.preprocess = fp32.stored_preprocess();
  }
  made.inputs = inputs_of_table(recipe, std::move(read), options);
  return made;
}

}  // namespace qtool::tool
