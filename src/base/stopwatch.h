#pragma once

#include <atomic>
#include <chrono>

namespace qtool {

/// Measures wall time from the moment it is made, by a clock that never goes back.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(now() - start_).count();
  }

  /// For tests: lets time pass for every stopwatch, without waiting.
  static void pass(std::chrono::nanoseconds time) noexcept { passed_ += time.count(); }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::time_point now() noexcept {
    return Clock::now() + std::chrono::nanoseconds(passed_.load(std::memory_order_relaxed));
  }

  static inline std::atomic<std::chrono::nanoseconds::rep> passed_ = 0;  ///< by pass()
  Clock::time_point start_ = now();
};

}  // namespace qtool
