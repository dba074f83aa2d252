#include "qtool/exec/image_input.h"

#include <string>

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {

const Value& image_input(const Graph& graph) {
  const std::vector<ValueId>& inputs = graph.inputs();
  if (inputs.size() == 1) return graph.value(inputs.front());
  std::string names;
  for (const ValueId id : inputs) {
    names += concat(names.empty() ? "'" : ", '", graph.value(id).name, "'");
  }
  throw Error(ErrorCode::kUnsupported, concat("the model has ", inputs.size(), " inputs (", names,
                                              "), images can feed a model with one"));
}

}  // namespace qtool
