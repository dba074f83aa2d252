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

/// While it lives, loops of this thread, and of the workers of parallel loops that it starts, ask
/// `stop` whether they are to end; see check_stop_inside(). Within another scope it does nothing:
/// the outermost one counts.
class StopScope {
 public:
  /// `stop` must live as long. Loops that end within `patience` are left to: what called them then
  /// says how far the work is.
  explicit StopScope(const StopCheck& stop, std::chrono::milliseconds patience = {});
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// The scope of this thread, for other threads that do a part of its work; null for none.
  static const StopScope* current() noexcept;
  /// Makes `scope` this thread's. Returns the one that it had before.
  static const StopScope* enter(const StopScope* scope) noexcept;

  /// Throws Error(kCancelled) when the work is to end.
  void check() const;

 private:
  using Clock = std::chrono::steady_clock;

  const StopCheck& stop_;
  Clock::time_point end_of_patience_;
  bool outermost_;
};

/// Throws Error(kCancelled) when the scope around this loop is to end; does nothing without one.
/// Cost: a few nanoseconds.
inline void check_stop_inside() {
  if (const StopScope* scope = StopScope::current()) scope->check();
}

/// Steps of loops between two looks whether they are to end: some milliseconds.
inline constexpr std::int64_t kStepsBetweenLooks = 1 << 20;

/// Calls check_stop_inside() once for so many steps of all loops of this thread, so that it may be
/// used in loops within loops.
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

/// Calls `body(begin, end)` for consecutive pieces of [0, count) and looks between them, so that
/// one row of billions of elements can be stopped. Rows of one piece count no steps: whoever runs
/// many of them does.
template <typename Body>
void in_pieces(std::int64_t count, const Body& body) {
  for (std::int64_t begin = 0; begin < count; begin += kStepsBetweenLooks) {
    if (begin > 0) check_stop_inside();
    body(begin, std::min(count, begin + kStepsBetweenLooks));
  }
}

}  // namespace qtool
