#pragma once

#include <span>

#include "kernels/gemm/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<GemmFunctions>> gemm_kernels() noexcept;

/// The specification: naive, never dispatched.
void reference_gemm(const GemmCall& call);

}  // namespace qtool
