#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtool/compare/evaluate.h"
#include "qtool/samples/samples.h"

namespace qtool {

class Executor;

/// What it costs that an INT8 model rounds the results of products before functions such as SiLU
/// and LeakyRelu, which its target runs apart from the product.
struct FunctionPairs {
  struct Cost {
    std::string tensor;
    /// The noise at the outputs when FP32 rounds this tensor alone, divided by the noise of the
    /// INT8 model.
    double share = 0.0;
  };
  std::string target;       ///< a target that rounds none of these tensors
  std::vector<Cost> costs;  ///< the most first
  std::int64_t samples = 0;

  /// The sum over all tensors. The noises of single tensors about add up.
  [[nodiscard]] double share() const;
};

/// Measures it on at most 4 samples, and on fewer where they would take more than 5 seconds.
/// nullopt where the INT8 model rounds no such tensor, or is for that target. `exclude`: see
/// StaticOptions. `fp32` and `int8`: see analyze(); throws as analyze() does. Cost: on each sample
/// one run of both models, and a part of an FP32 run for each tensor, on one thread.
std::optional<FunctionPairs> function_pairs(const Executor& fp32, const Executor& int8,
                                            std::span<const std::string> exclude,
                                            const Samples& samples, const SampleRunOptions& run);

}  // namespace qtool
