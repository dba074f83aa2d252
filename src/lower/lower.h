#pragma once

#include "lower/specialize.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// Rewrites a shaped graph into the operators a plan runs: integer clusters, fused activations.
/// Graph outputs are never fused away. Observed tensors are graph outputs too.
void lower(ShapedGraph& shaped, Requantization requantization);

/// Keeps every node as the ONNX specification defines it, in FP32, and only evaluates constants.
void lower_to_reference(ShapedGraph& shaped);

}  // namespace qtool
