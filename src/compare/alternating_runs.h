#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compare/model_pair.h"
#include "qtool/base/progress.h"

namespace qtool {

/// One or two models that are timed on one sample. They take turns, so that a change of the clock
/// frequency affects both.
class AlternatingRuns {
 public:
  /// Compiles the models. `sample` must outlive the object. Throws as compile_pair() does, and
  /// Error(kUsage) when `repeat` is below 1.
  AlternatingRuns(const Executor& fp32, const Executor* int8, std::span<const Tensor> sample,
                  int threads, std::int64_t repeat,
                  Requantization requantization = Requantization::kFloat);

  [[nodiscard]] const ModelPair& pair() const noexcept { return pair_; }
  [[nodiscard]] const Plan& plan(std::size_t model) const {
    return pair_.plan(static_cast<std::int64_t>(model));
  }
  /// The threads that the models run on.
  [[nodiscard]] int threads() const noexcept { return threads_; }

  /// Calls `turn` for each model in turn: `warm_ups` times, and then `repeat` times with `counts`
  /// true. `progress` counts the latter.
  void run(std::int64_t warm_ups, const Progress& progress,
           const std::function<void(std::size_t model, bool counts)>& turn);
  /// Runs a model once, and returns the seconds that it took. The outputs stay in outputs() until
  /// its next run.
  double run_once(std::size_t model);
  /// Runs a model once, and measures its steps; see Plan::run_timed().
  void run_steps(std::size_t model, std::span<double> seconds);
  [[nodiscard]] std::span<const TensorView> outputs(std::size_t model) const {
    return outputs_.at(model);
  }

 private:
  int threads_;
  std::int64_t repeat_;
  ModelPair pair_;
  std::vector<TensorView> inputs_;
  std::array<Workspace, 2> workspaces_;
  std::array<std::span<const TensorView>, 2> outputs_;
};

}  // namespace qtool
