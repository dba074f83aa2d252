#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"

// The weights (input 1) and the bias (input 2) of FP32 operators that oneDNN runs.
namespace qtool {

/// The fields of `spec` that come from the node and its geometry. Throws Error(kInvalidModel)
/// unless image, weights and bias are float32 and the bias has one value per output channel.
void set_weighted_spec(const OpContext& op, ConvGeometry geometry, onednn::WeightedSpec& spec);

/// Throws Error(kInvalidModel) unless image and weights are float32.
void require_float_operands(const OpContext& op);

/// Weights and bias packed for `primitive` when they are constants, shared with the executor's
/// other plans; null when one of them is computed. `name` tells kinds of primitives apart.
template <typename Primitive>
onednn::PackedPtr packed_constants(const OpContext& op, std::string_view name,
                                   const Primitive& primitive, bool with_bias) {
  const std::shared_ptr<const Tensor> weights = op.shared_constant(1);
  const std::shared_ptr<const Tensor> bias = with_bias ? op.shared_constant(2) : nullptr;
  if (weights == nullptr || (with_bias && bias == nullptr)) return nullptr;
  return op.packed<onednn::Packed>({to_text(name, " ", primitive.format()), {weights, bias}}, [&] {
    return primitive.pack(weights->values<float>().data(),
                          bias != nullptr ? bias->values<float>().data() : nullptr);
  });
}

}  // namespace qtool
