#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace qtool {

/// Memory that decoders may hold at one time, so that threads with large images wait for each
/// other instead of multiplying what one of them takes.
class DecodeBudget {
 public:
  explicit DecodeBudget(std::int64_t bytes) : bytes_(bytes) {}

  /// The process's own: 2 GiB, or a quarter of the memory of this machine where that is less.
  static DecodeBudget& of_process();

  /// Holds `bytes` of the budget while it lives. Waits until they are free; an image that needs
  /// more than the whole budget waits until it is alone. Strictly first come, first served, so that
  /// small images do not keep a large one waiting for ever. A thread may hold one lease only.
  class Lease {
   public:
    Lease(DecodeBudget& budget, std::int64_t bytes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

   private:
    DecodeBudget& budget_;
    std::int64_t bytes_;
  };

 private:
  std::int64_t bytes_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::int64_t held_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t served_ = 0;
};

}  // namespace qtool
