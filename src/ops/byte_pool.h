#pragma once

#include <memory>

#include "kernels/pool/pool.h"
#include "ops/operator.h"
#include "ops/spatial.h"

namespace qtool {

/// The extents that the pooling kernels need to pool input 0 [N, C, H, W] by `window`. Claims the
/// memory that the kernels take for the offsets of a window's elements.
PoolShape pool_shape(const OpContext& op, const Window& window);

/// The operator that writes the largest u8 element of each window of its input [N, C, H, W]. Both
/// tensors are channels-last.
std::unique_ptr<Operator> make_byte_max_pool(const OpContext& op, const Window& window);

}  // namespace qtool
