#include "graph/constant_float.h"

namespace qtool {

std::optional<float> constant_float(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const Tensor* constant = graph.value(id).constant.get();
  if (constant == nullptr || constant->dtype() != DType::kFloat32 || constant->elements() != 1) {
    return std::nullopt;
  }
  return constant->values<float>()[0];
}

}  // namespace qtool
