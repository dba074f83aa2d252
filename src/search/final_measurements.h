#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/suggest_trials.h"
#include "qtool/exec/executor.h"
#include "qtool/search/search.h"
#include "search/held_out_images.h"
#include "search/search_budget.h"
#include "search/tried_models.h"

namespace qtool {

/// `models`, and the first of `more` that are not among them, `most` of these. The base model, 0,
/// is not added, because the others are timed against it.
std::vector<std::size_t> with_more(std::vector<std::size_t> models,
                                   const std::vector<std::size_t>& more, std::size_t most);

/// The last part of a search: the times of the models that it shows, and how the chosen model
/// answers on both parts of the images.
class FinalMeasurements {
 public:
  /// All arguments that are references must outlive the object. `trial_options` are those of
  /// `trials`. `base`: the inputs of the base model. `once`: times of one image on one thread.
  FinalMeasurements(const Executor& fp32, const StaticInputs& base, const SplitSamples& split,
                    const Trials& trials, SuggestOptions& trial_options,
                    const SearchOptions& options, Trials::Seconds once);

  /// Says how long it took to make the base model and run it on all images that are searched on.
  /// One image may be read faster than others, so that this is the better estimate.
  void first_took(double seconds) noexcept { first_seconds_ = seconds; }
  /// The estimated time of judge(), and of measure_times() with one model and the fewest runs.
  [[nodiscard]] double least_seconds() const;

  /// Measures the times of `models` in the rest of the budget, without the time of judge(). Writes
  /// them to `tried`, and that of the base model to `int8_seconds`. False if the rest is too short,
  /// or if the measurement was stopped.
  bool measure_times(const std::vector<std::size_t>& models, const SearchBudget& budget,
                     TriedModels& tried, double& int8_seconds) const;

  /// Writes the models to `result`: the base model, the chosen one, that with the most decibels,
  /// and those of the tables. All are models of `tried`.
  static void show(const TriedModels& tried, std::size_t chosen,
                   const std::vector<std::size_t>& frontier,
                   const std::vector<std::size_t>& loudest, SearchResult& result);

  /// Sets `searched`, `held_out` and what the contents of the images say in `result`, and adds the
  /// held images that were left out. Stopped work leaves out what it did not end, and an end of
  /// kComplete becomes kBudget. `chosen`: a model of `tried`.
  void judge(const TriedModels& tried, std::size_t chosen, SearchResult& result) const;

 private:
  [[nodiscard]] double judge_seconds() const;
  [[nodiscard]] double make_seconds(std::size_t models) const;
  [[nodiscard]] double round_seconds(std::size_t models) const;

  const Executor& fp32_;
  const StaticInputs& base_;
  const SplitSamples& split_;
  const Trials& trials_;
  SuggestOptions& trial_options_;
  const SearchOptions& options_;
  Trials::Seconds once_;
  double first_seconds_ = 0.0;
};

}  // namespace qtool
