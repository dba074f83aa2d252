#include "ops/float_weights.h"

#include <utility>

namespace qtool {

void require_float_operands(const OpContext& op) {
  const DType x = op.input(0).dtype;
  const DType w = op.input(1).dtype;
  op.require(x == DType::kFloat32 && w == DType::kFloat32,
             to_text("found ", name_of(x), " and ", name_of(w), ", expected float32"));
}

void set_weighted_spec(const OpContext& op, ConvGeometry geometry, onednn::WeightedSpec& spec) {
  spec.source = op.input(0).shape;
  spec.weights = op.input(1).shape;
  spec.destination = geometry.output;
  spec.window = std::move(geometry.window);
  spec.groups = geometry.groups;
  spec.bias = op.has_input(2);
  if (!spec.bias) return;
  const std::int64_t outputs = spec.destination[1];
  op.require(
      op.input(2).shape == Shape{outputs} && op.input(2).dtype == DType::kFloat32,
      to_text("bias has shape ", op.input(2).shape.to_string(), ", expected [", outputs, "]"));
}

}  // namespace qtool
