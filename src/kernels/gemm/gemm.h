#pragma once

#include <span>

#include "kernels/gemm/contract.h"
#include "kernels/select.h"

namespace qtool {

/// Every kernel of the family that this build contains.
std::span<const KernelRow<GemmFunctions>> gemm_kernels() noexcept;

/// The specification: naive code that is never selected as a kernel. `layout` says how the operands
/// of `call` are laid out.
void reference_gemm(const GemmCall& call, const GemmLayout& layout);

}  // namespace qtool
