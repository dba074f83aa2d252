#include <memory>
#include <utility>

#include "graph/onnx/dtype.h"
#include "graph/passes/passes.h"
#include "graph/subgraphs.h"

namespace qtool {
namespace {

bool is_half(std::optional<DType> dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void widen(Attribute& attribute, bool names_type) {
  if (auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&attribute)) {
    if (is_half((*tensor)->dtype())) {
      *tensor = std::make_shared<const Tensor>(to_float32(**tensor));
    }
  }
  if (auto* number = std::get_if<std::int64_t>(&attribute); number != nullptr && names_type) {
    if (is_half(dtype_of_onnx(*number))) *number = onnx_of_dtype(DType::kFloat32);
  }
}

}  // namespace

void to_float32(Graph& graph) {
  for (const ValueId id : graph.living_values()) {
    const Value& value = graph.value(id);
    if (!is_half(value.dtype)) continue;
    if (value.constant != nullptr) {
      graph.set_constant(id, std::make_shared<const Tensor>(to_float32(*value.constant)));
    } else {
      graph.declare(id, DType::kFloat32, value.shape);
    }
  }
  for (const NodeId id : graph.nodes()) {
    if (!graph.node(id).domain.empty()) continue;
    for (auto& [name, attribute] : graph.attributes(id)) {
      widen(attribute, name == "to" || name == "dtype" || name == "output_dtype");
    }
    change_subgraphs(graph, id, [](Graph body, std::span<const ValueId>) {
      to_float32(body);
      return body;
    });
  }
}

}  // namespace qtool
