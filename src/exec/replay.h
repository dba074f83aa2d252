#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "qtool/exec/executor.h"

namespace qtool {

struct PlanStep;

/// Runs a network once, and then parts of it again with one change. Only the steps that depend on
/// the change run again, so its effect on the outputs is cheap to compute. One thread at a time.
class Replay {
 public:
  /// Writes the changed elements to `out`, in the order of `original` in memory.
  using Change = std::function<void(const TensorView& original, std::byte* out)>;

  /// Both plans are compiled with CompileOptions::keep, from graphs that differ in the values of
  /// constants only. `variant` may be null. Throws Error(kMismatch) when the steps of the two plans
  /// differ.
  Replay(std::shared_ptr<const Plan> plan, std::shared_ptr<const Plan> variant);
  /// Adds a variant for run_variant(). Variants are numbered from 0 in the order in which they are
  /// added; the constructor adds the first one. Throws as the constructor does.
  void add_variant(std::shared_ptr<const Plan> variant);

  /// See Plan::run(). The views are valid until the next run of the whole network.
  std::span<const TensorView> run(std::span<const TensorView> inputs, const Probe& probe = {});
  /// The outputs with one observed tensor changed. `observed` is its index in
  /// CompileOptions::observe. Call run() first. The views are valid until the next run of any kind.
  std::span<const TensorView> run_changed(std::size_t observed, const Change& change);
  /// The outputs when step `step` runs as in variant number `variant`. Call run() first. The views
  /// are valid until the next run of any kind.
  std::span<const TensorView> run_variant(std::size_t step, std::size_t variant = 0);

 private:
  /// Gives the changed tensors their places in `arena_`.
  void place_changed();
  /// Makes room for the workspace of the steps of `plan`.
  void fit_scratch(const Plan& plan);
  /// Points `value`, and all values that share its memory, at `data` until put_back().
  void redirect(std::int32_t value, const std::byte* data);
  void redirect_outputs(const PlanStep& step);
  void put_back();
  void run_step(const PlanStep& step);
  [[nodiscard]] bool reads_changed(std::size_t step) const;
  std::span<const TensorView> finish_from(std::size_t first_step);

  std::shared_ptr<const Plan> plan_;
  std::vector<std::shared_ptr<const Plan>> variants_;
  Workspace clean_;
  // For changed tensors. Those that no later step reads make room for others, so that most of them
  // stay in the caches of the processor.
  Tensor arena_;
  std::vector<std::int64_t> offsets_;               // in `arena_`, by storage
  std::int64_t scratch_offset_ = 0;                 // of the workspace in `arena_`
  Tensor tensor_;                                   // the changed tensor itself
  std::vector<std::vector<std::int32_t>> sharing_;  // values of each storage
  std::vector<TensorView> mixed_;                   // clean or changed memory, by value
  std::vector<bool> changed_;                       // by storage
  std::vector<std::int32_t> moved_;                 // storages to put back
  std::vector<TensorView> outputs_;
};

}  // namespace qtool
