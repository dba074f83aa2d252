// Weights that a model stores in FP32, followed by a QuantizeLinear, as for TensorRT.
#include <optional>
#include <utility>

#include "lower/passes.h"

namespace qtool {
namespace {

/// Finds the slice that an element of a tensor belongs to, along the axis of the scales.
struct SliceWalk {
  std::int64_t slices = 1;
  std::int64_t inner = 1;

  SliceWalk(const Shape& shape, const Affines& affines) {
    if (affines.per_tensor()) return;
    slices = shape[affines.axis];
    for (std::int64_t i = affines.axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  [[nodiscard]] std::size_t slice(std::size_t element) const {
    return static_cast<std::size_t>(static_cast<std::int64_t>(element) / inner % slices);
  }
};

// Source: ONNX QuantizeLinear.
std::optional<Tensor> quantized(const Tensor& real, const Affines& affines, DType type) {
  const Shape& shape = real.shape();
  if (real.dtype() != DType::kFloat32 || real.elements() == 0) return std::nullopt;
  if (type != DType::kInt8 && type != DType::kUInt8) return std::nullopt;
  if (!affines.per_tensor() &&
      (affines.axis < 0 || affines.axis >= shape.rank() ||
       shape[affines.axis] != static_cast<std::int64_t>(affines.scales.size()))) {
    return std::nullopt;
  }
  const SliceWalk walk(shape, affines);
  const Limits limits = type == DType::kInt8 ? Limits{-128, 127} : Limits{0, 255};
  Tensor integers(type, shape);
  const auto from = real.values<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int32_t q = quantize_value(from[i], affines.at(walk.slice(i)), limits);
    integers.data()[i] = static_cast<std::byte>(static_cast<std::uint8_t>(q));
  }
  return integers;
}

}  // namespace

void fold_quantized_constants(Clusters& c) {
  const std::vector<NodeId> order = c.graph.nodes();
  for (const NodeId id : order) {
    const Node& node = c.graph.node(id);
    if (!node.is("QuantizeLinear") || !c.graph.is_constant(node.inputs[0])) continue;
    const ValueId output = node.outputs[0];
    if (c.graph.is_output(output)) continue;
    const std::optional<Affines> affines = c.affines(id);
    if (!affines) continue;
    std::optional<Tensor> integers =
        quantized(*c.graph.value(node.inputs[0]).constant, *affines, c.integer_type(id));
    if (!integers) continue;
    c.graph.set_constant(output, std::make_shared<const Tensor>(std::move(*integers)));
  }
  c.graph.remove_dead_nodes();
}

}  // namespace qtool
