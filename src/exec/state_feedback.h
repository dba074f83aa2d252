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

/// The states of one network that runs on samples in their order, see Samples::states(). Without
/// states it does nothing.
class StateFeedback {
 public:
  /// Throws Error(kUsage) when the network has no output of a state's name, Error(kMismatch) when
  /// it is not a tensor such as the input takes.
  StateFeedback(const Samples& samples, const Plan& plan);

  /// The tensors of sample `item`, with the states that keep() was given last, or zeros where a
  /// file begins. The views live as long as both.
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
