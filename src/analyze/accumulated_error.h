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

/// The error that an INT8 model has accumulated when it comes to each rounded tensor: one run of it
/// says so for all of them.
class AccumulatedErrors {
 public:
  /// The integers of the activations are observed; those that the model does not hold as one tensor
  /// are left out. Both graphs are prepared.
  AccumulatedErrors(const Executor& fp32, const Executor& int8,
                    const std::vector<QuantizedActivation>& activations, const InputShapes& shapes);

  /// Whether the activation with that index is observed.
  [[nodiscard]] bool has(std::size_t activation) const { return observed_[activation].has_value(); }

  struct Sums {
    std::vector<SqnrSums> tensors;                ///< by activation
    std::vector<std::vector<ValuePair>> pairs{};  ///< of the first images
  };
  /// Runs the INT8 model. `reals`: of each activation in the FP32 network. Returns its outputs. One
  /// call per workspace at a time. Cost: a run, and a pass over the tensors.
  std::span<const TensorView> run(std::span<const TensorView> inputs, std::size_t image,
                                  std::span<const TensorView> reals, Workspace& workspace,
                                  Sums& sums) const;

 private:
  struct Observed {
    std::size_t index = 0;  // in the plan
    std::string name;       // of the integers
    Affines affines;
  };

  const std::vector<QuantizedActivation>& activations_;
  std::vector<std::optional<Observed>> observed_;  // by activation
  std::vector<std::size_t> activation_of_;         // by index in the plan
  std::shared_ptr<const Plan> plan_;
};

}  // namespace qtool
