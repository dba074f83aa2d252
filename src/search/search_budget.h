#pragma once

#include <atomic>
#include <cstddef>

#include "base/stopwatch.h"

namespace qtool {

/// The wall time of a search and its parts. The last part is for judging and timing what was found.
class SearchBudget {
 public:
  /// Begins now. `seconds`: the time of the whole search.
  explicit SearchBudget(double seconds) : seconds_(seconds) {}

  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  [[nodiscard]] double elapsed() const;
  /// When the measurement of sources should end, in seconds since the beginning.
  [[nodiscard]] double end_of_probing() const noexcept;
  /// Whether work must end that should have ended with the time for models, or after
  /// begin_last_part() with the whole time. A twentieth of the whole time is allowed beyond it.
  [[nodiscard]] bool is_over() const;

  /// Sets how long the last part takes. The part has a tenth of the time at least, half of it at
  /// most.
  void set_last_part(double seconds);
  void begin_last_part() noexcept { deadline_ = seconds_; }

  /// Says how long it takes to make a model and run it on all images: an estimate before the first
  /// models, then the time of those that were run together last.
  void expect(double seconds_per_model) noexcept { per_model_ = seconds_per_model; }
  void took(double seconds, std::size_t models) noexcept;
  /// How many of `wanted` models can probably be made and run before the time for models is over.
  [[nodiscard]] std::size_t affordable(std::size_t wanted) const;

 private:
  Stopwatch since_;
  double seconds_;
  std::atomic<double> deadline_ = 0.9 * seconds_;
  double per_model_ = 0.0;
};

}  // namespace qtool
