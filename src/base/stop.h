#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "qtool/base/error.h"
#include "qtool/base/progress.h"

namespace qtool {

/// Throws Error(kCancelled) when the caller wants the work to end.
inline void check_stop(const StopCheck& stop) {
  if (stop && stop()) throw Error(ErrorCode::kCancelled, "stopped on request");
}

/// Calls `progress`, if there is one. Throws Error(kCancelled) when it asks to stop: "`work`
/// stopped after `done` of `total` `items`".
void report_progress(const Progress& progress, std::int64_t done, std::int64_t total,
                     std::string_view work, std::string_view items);

/// While a scope lives, the loops of this thread ask `stop` whether to end; see
/// check_stop_inside(). So do the workers of parallel loops that this thread starts. A scope inside
/// another scope does nothing: only the outermost one counts.
class StopScope {
 public:
  /// `stop` must outlive the scope. No loop is stopped within `patience` after the construction: a
  /// loop that ends in this time returns to its caller, which can report how far the work is.
  explicit StopScope(const StopCheck& stop, std::chrono::milliseconds patience = {});
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// The current scope of this thread, or null. Other threads that do a part of its work enter it.
  static const StopScope* current() noexcept;
  /// Makes `scope` the current scope of this thread. Returns the previous one.
  static const StopScope* enter(const StopScope* scope) noexcept;

  /// Throws Error(kCancelled) when the work is to end.
  void check() const;

 private:
  using Clock = std::chrono::steady_clock;

  const StopCheck& stop_;
  Clock::time_point end_of_patience_;
  bool outermost_;
};

/// Throws Error(kCancelled) when the current scope of this thread asks to stop; does nothing
/// without a scope. Cost: a few nanoseconds.
inline void check_stop_inside() {
  if (const StopScope* scope = StopScope::current()) scope->check();
}

/// The number of loop steps between two calls of check_stop_inside(): some milliseconds of work.
inline constexpr std::int64_t kStepsBetweenLooks = 1 << 20;

/// Calls check_stop_inside() once per kStepsBetweenLooks steps. All loops of a thread share one
/// count, so that this can be used in nested loops.
class StopPace {
 public:
  void step(std::int64_t steps = 1) {
    left_ -= steps;
    if (left_ > 0) return;
    left_ = kStepsBetweenLooks;
    check_stop_inside();
  }

 private:
  inline static thread_local std::int64_t steps_left = kStepsBetweenLooks;
  std::int64_t& left_ = steps_left;
};

/// Calls `body(begin, end)` for consecutive pieces of [0, count) and calls check_stop_inside()
/// between them, so that one row of billions of elements can be stopped. A row of one piece makes
/// no check, so a caller with many such rows counts their steps itself.
template <typename Body>
void in_pieces(std::int64_t count, const Body& body) {
  for (std::int64_t begin = 0; begin < count; begin += kStepsBetweenLooks) {
    if (begin > 0) check_stop_inside();
    body(begin, std::min(count, begin + kStepsBetweenLooks));
  }
}

}  // namespace qtool
