#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compare/sample_runs.h"
#include "qtool/exec/executor.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The number of samples that run together, see together_plan(). More do not help: the tensors of
/// the layers that are run most often then leave the caches.
inline constexpr std::int64_t kRunTogether = 4;
/// The most bytes of all tensors of samples that run together.
inline constexpr std::int64_t kMostBytesTogether = std::int64_t{128} << 20;

/// A plan for kRunTogether samples with the shapes of `sample`, which reads the weights once for
/// all of them. Null where they cannot run together: an input that does not begin with an extent of
/// 1 or is not float32, a tensor that is observed or an output that does not begin with the
/// samples, a network that mixes them, or more than kMostBytesTogether bytes. To find a network
/// that mixes samples, four variations of `sample` run together, and each alone by `single`. Throws
/// Error(kCancelled). Cost: compiling, a run of the plan, and kRunTogether runs of `single`.
std::shared_ptr<const Plan> together_plan(const Executor& network, const CompileOptions& compile,
                                          const Plan& single, std::span<const Tensor> sample);

/// The inputs of several samples, one behind the other.
std::vector<Tensor> stacked(std::span<const LoadedSample> samples);

/// The part of sample `slot` in a tensor of `count` samples.
TensorView slot_of(const TensorView& tensor, std::size_t slot, std::size_t count);
std::vector<TensorView> slots_of(std::span<const TensorView> tensors, std::size_t slot,
                                 std::size_t count);

}  // namespace qtool
