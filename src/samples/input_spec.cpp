#include "base/text.h"
#include "qtool/graph/graph.h"
#include "qtool/samples/samples.h"

namespace qtool {

std::vector<InputSpec> input_specs(const Graph& graph) {
  std::vector<InputSpec> specs;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    InputSpec& spec = specs.emplace_back();
    spec.name = value.name;
    spec.dtype = value.dtype.value_or(DType::kFloat32);
    if (!value.shape) continue;
    spec.extents.emplace();
    for (const Dim& dim : *value.shape) spec.extents->push_back(dim.size);
  }
  return specs;
}

std::string shape_text(const InputSpec& spec) {
  if (!spec.extents) return "any shape";
  std::string text = "[";
  for (const std::optional<std::int64_t>& extent : *spec.extents) {
    text += to_text(text.size() == 1 ? "" : ", ", extent ? to_text(*extent) : std::string("?"));
  }
  return to_text(text, "]");
}

bool accepts(const InputSpec& spec, const std::vector<std::int64_t>& dims) {
  if (!spec.extents) return true;
  if (spec.extents->size() != dims.size()) return false;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if ((*spec.extents)[axis].value_or(dims[axis]) != dims[axis]) return false;
  }
  return true;
}

}  // namespace qtool
