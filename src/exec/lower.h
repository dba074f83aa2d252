#pragma once

#include "exec/specialize.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// Rewrites a shaped graph into the operators a plan runs: integer clusters, fused activations.
/// Outputs, and with them observed tensors, are never fused away.
void lower(ShapedGraph& shaped, const CompileOptions& options, const StopCheck& stop = {});

/// Q/DQ clusters become integer operators. A cluster that is not recognised stays as it is.
void lower_integer(ShapedGraph& shaped, const CompileOptions& options, const StopCheck& stop);

/// In FP32, residual Add is fused into the convolution before it, Relu and Clip into what precedes.
void fuse_float(ShapedGraph& shaped);

}  // namespace qtool
