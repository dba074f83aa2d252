#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Passes the states of one network from each sample to the next, see Samples::states(). The
/// samples must run in their order. Without states it does nothing.
class StateFeedback {
 public:
  /// Throws Error(kUsage) when the network has no input or output of a state's name,
  /// Error(kMismatch) when the output of a state differs from its input in type or shape.
  StateFeedback(const Samples& samples, const Plan& plan);

  /// The inputs for sample `item`: its tensors, with the states that keep() copied last, or zeros
  /// where a file begins. The views are valid as long as `sample` and this object.
  [[nodiscard]] std::vector<TensorView> inputs(std::int64_t item, std::span<const Tensor> sample);
  /// Copies the states out of the outputs of a run.
  void keep(std::span<const TensorView> outputs);

 private:
  struct State {
    std::size_t input;
    std::size_t output;
    Tensor tensor;
  };

  const Samples& samples_;
  std::vector<State> states_;
};

}  // namespace qtool
