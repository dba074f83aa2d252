#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/elementary/elementary.h"
#include "ops/lowered.h"

namespace qtool {

/// Element-wise functions of tensors of one shape, computed tile by tile so that intermediate
/// results never leave the cache. Each step does the arithmetic of its ONNX operator, so a chain
/// gives the same bits as the nodes that it replaces.
class Chain {
 public:
  /// `params` has 1 to kMaxChainSteps steps.
  explicit Chain(const ChainParams& params);

  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  /// Computes `count` elements on the calling thread. `inputs`: the first element of each input.
  /// `out` may be one of the inputs. Throws Error(kCancelled) when the current StopScope asks to
  /// stop.
  void run(std::span<const float* const> inputs, float* out, std::int64_t count) const;

 private:
  ElementaryKernel kernel_;
  std::vector<ChainStep> steps_;
};

}  // namespace qtool
