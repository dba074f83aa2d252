#pragma once

#include <memory>
#include <vector>

#include "ops/operator.h"

// Operators whose output shape depends on data. Plans have fixed shapes, so the data must be a
// constant; the results are computed while the plan is made.
namespace qtool {

/// The constant input that the extent of the output depends on. Throws Error(kUnsupported) when it
/// is computed by the network.
const Tensor& deciding_constant(const OpContext& op, std::size_t input);

std::vector<ValueInfo> infos_of(const std::vector<Tensor>& tensors);

/// An operator whose outputs are copies of `results`.
std::unique_ptr<Operator> make_copies(std::vector<Tensor> results);

/// The row of an operator whose outputs are the tensors that `Compute`, a stateless function of the
/// node, returns.
template <typename Compute>
OpDef computed_row(Compute /*compute*/) {
  return {[](const OpContext& op) { return infos_of(Compute{}(op)); },
          [](const OpContext& op) { return make_copies(Compute{}(op)); }};
}

}  // namespace qtool
