#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/metrics.h"
#include "compare/output_noise.h"
#include "compare/quantized_parts.h"
#include "qtool/analyze/analyze.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// Measures the error that an INT8 model has accumulated at each rounded tensor. One run of the
/// model measures all of them.
class AccumulatedErrors {
 public:
  /// Observes the integers of the activations. An activation is left out if the model does not hold
  /// its integers as one tensor. Both graphs must be prepared.
  AccumulatedErrors(const Executor& fp32, const Executor& int8,
                    const std::vector<QuantizedActivation>& activations, const InputShapes& shapes);

  /// Whether the activation with that index is observed.
  [[nodiscard]] bool has(std::size_t activation) const { return observed_[activation].has_value(); }

  struct Sums {
    std::vector<SqnrSums> tensors;                ///< one per activation
    std::vector<std::vector<ValuePair>> pairs{};  ///< per activation, from the first images
  };
  /// Runs the INT8 model and returns its outputs. `reals`: the tensor of each activation in the
  /// FP32 network. One call per workspace at a time. Cost: a run, and a pass over the tensors.
  std::span<const TensorView> run(std::span<const TensorView> inputs, std::size_t image,
                                  std::span<const TensorView> reals, Workspace& workspace,
                                  Sums& sums) const;

 private:
  struct Observed {
    std::size_t index = 0;  // index of the observed tensor in the plan
    std::string name;       // name of the tensor of integers
    Affines affines;
  };

  const std::vector<QuantizedActivation>& activations_;
  std::vector<std::optional<Observed>> observed_;  // one per activation
  std::vector<std::size_t> activation_of_;         // one per observed tensor of the plan
  std::shared_ptr<const Plan> plan_;
};

}  // namespace qtool
