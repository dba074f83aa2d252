#pragma once

#include <span>

#include "kernels/depthwise/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<DepthwiseFunctions>> depthwise_kernels() noexcept;

/// The specification, on weights that are not packed: naive code that is never selected as a
/// kernel.
void reference_depthwise(const DepthwiseWeights& weights, const DepthwiseCall& call);

}  // namespace qtool
