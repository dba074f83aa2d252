#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "qtool/exec/executor.h"

namespace qtool {

struct PlanStep;

/// Runs a network once, and then parts of it again with one thing changed: what the change alone
/// does to the outputs costs only the steps that follow from it. One thread at a time.
class Replay {
 public:
  /// Writes the changed elements to `out`, in the order of `original` in memory.
  using Change = std::function<void(const TensorView& original, std::byte* out)>;

  /// Both plans are compiled with CompileOptions::keep, from graphs that differ in the values of
  /// constants only. `variant` may be null. Throws Error(kMismatch) when the plans have other
  /// steps.
  Replay(std::shared_ptr<const Plan> plan, std::shared_ptr<const Plan> variant);
  /// One more variant, for run_variant(); that of the constructor has the number 0. Throws as it.
  void add_variant(std::shared_ptr<const Plan> variant);

  /// See Plan::run(). The views end with the next run of the whole network.
  std::span<const TensorView> run(std::span<const TensorView> inputs, const Probe& probe = {});
  /// The outputs with one observed tensor changed, `observed` counted in CompileOptions::observe.
  /// Needs a run() before it. The views end with the next call of any of these.
  std::span<const TensorView> run_changed(std::size_t observed, const Change& change);
  /// The outputs with step `step` as a variant computes it.
  std::span<const TensorView> run_variant(std::size_t step, std::size_t variant = 0);

 private:
  /// `value`, and all that share its memory, are at `data` until put_back().
  void redirect(std::int32_t value, const std::byte* data);
  void redirect_outputs(const PlanStep& step);
  void put_back();
  void run_step(const PlanStep& step);
  [[nodiscard]] bool reads_changed(std::size_t step) const;
  std::span<const TensorView> finish_from(std::size_t first_step);

  std::shared_ptr<const Plan> plan_;
  std::vector<std::shared_ptr<const Plan>> variants_;
  Workspace clean_;
  Tensor arena_;   // of the changed tensors: the same offsets as in the clean one
  Tensor tensor_;  // the changed tensor itself
  std::vector<std::vector<std::int32_t>> sharing_;  // values of each storage
  std::vector<TensorView> mixed_;                   // clean or changed memory, by value
  std::vector<bool> changed_;                       // by storage
  std::vector<std::int32_t> moved_;                 // storages to put back
  std::vector<TensorView> outputs_;
};

}  // namespace qtool
