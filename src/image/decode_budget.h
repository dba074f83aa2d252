#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace qtool {

/// A limit on the memory of all running decoders together: threads with large images wait for each
/// other instead of exhausting the memory.
class DecodeBudget {
 public:
  explicit DecodeBudget(std::int64_t bytes) : bytes_(bytes) {}

  /// The budget of this process: 2 GiB, or a quarter of the physical memory if that is less.
  static DecodeBudget& of_process();

  /// Holds `bytes` of the budget while it lives. The constructor waits until they are free; a lease
  /// of more than the whole budget waits until it is the only one. Leases are granted strictly in
  /// the order of the requests, so that small images cannot keep a large one waiting forever. A
  /// thread may hold one lease only.
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
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::int64_t held_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t served_ = 0;
};

}  // namespace qtool
