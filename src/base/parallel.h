#pragma once

#include <cstdint>
#include <functional>

namespace qtool {

/// The number of threads this process may use: the size of its affinity mask, not the number of
/// cores.
int available_threads() noexcept;

/// Returns `requested`, or available_threads() when it is 0. Throws Error(kUsage) when `requested`
/// is negative or above 1024.
int resolve_threads(int requested);

/// Splits [0, count) into consecutive ranges, one per worker, and calls `body(begin, end, worker)`
/// once for each. There are at most `threads` workers, and `worker` is below `threads`. Returns
/// when all workers have ended, and rethrows the exception of the lowest worker that threw one.
/// With one thread, and inside a worker of another loop, everything runs on the calling thread. The
/// process has one pool of threads; if a thread of it does not get a core in time, the caller runs
/// that worker itself.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t, int)>& body);

/// Calls `body(item, worker)` once for each item of [0, count), handing out one item at a time; for
/// items of unequal cost. After an exception no further items start, and the exception of the
/// lowest failed item is rethrown.
void parallel_items(std::int64_t count, int threads,
                    const std::function<void(std::int64_t, int)>& body);

/// While it lives, denormal floats are read and written as zero on the current thread and on the
/// workers of loops that this thread starts. Every thread that executes a network runs in this
/// mode.
class FlushDenormals {
 public:
  FlushDenormals() noexcept;
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace qtool
