#pragma once

#include <chrono>

namespace qtool {

/// Measures wall time from the moment it is made, by a clock that never goes back.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace qtool
