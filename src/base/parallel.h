#pragma once

#include <cstdint>
#include <functional>

namespace qtool {

/// Threads this process may use: the size of its affinity mask, not the number of cores.
int available_threads() noexcept;

/// `requested` threads, or available_threads() when it is 0. Throws Error(kUsage) when negative
/// or above 1024.
int resolve_threads(int requested);

/// Calls `body(begin, end, worker)` for consecutive ranges that cover [0, count) once, one range
/// per worker, on at most `threads` workers. `worker` is below `threads`. Returns when all have
/// ended; the exception of the lowest worker is rethrown. Inside a worker, and with one thread, it
/// runs on the calling thread. The process has one pool of threads; the caller itself runs a worker
/// whose thread does not get a core in time.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t, int)>& body);

/// Calls `body(item, worker)` once for each item of [0, count), handing out one at a time; for
/// items of unequal cost. After an exception no further items start; the lowest item's is rethrown.
void parallel_items(std::int64_t count, int threads,
                    const std::function<void(std::int64_t, int)>& body);

/// While it lives, denormal floats are read and written as zero on the current thread and on the
/// workers of loops that this thread starts. Every thread that executes a network does so.
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
