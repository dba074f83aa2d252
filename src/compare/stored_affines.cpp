#include "compare/stored_affines.h"

#include <cstdint>
#include <span>
#include <vector>

namespace qtool {

std::optional<Affines> stored_affines(const Graph& graph, const Node& node) {
  if (!node.has_input(1) || !graph.is_constant(node.inputs[1])) return {};
  if (node.get_int("block_size", 0) != 0) return {};
  const Tensor& scales = *graph.value(node.inputs[1]).constant;
  if (scales.dtype() != DType::kFloat32 || scales.elements() < 1 || scales.shape().rank() > 1) {
    return {};
  }
  Affines affines;
  const std::span<const float> values = scales.values<float>();
  affines.scales.assign(values.begin(), values.end());
  if (!affines.per_tensor()) affines.axis = node.get_int("axis", 1);
  if (!node.has_input(2)) return affines;
  if (!graph.is_constant(node.inputs[2])) return {};
  const std::vector<std::int64_t> zero_points = to_int64s(*graph.value(node.inputs[2]).constant);
  if (zero_points.size() != affines.scales.size()) return {};
  for (const std::int64_t zero : zero_points) {
    affines.zero_points.push_back(static_cast<std::int32_t>(zero));
  }
  return affines;
}

}  // namespace qtool
