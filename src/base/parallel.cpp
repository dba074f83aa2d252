#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/floating_point_mode.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

thread_local bool inside_worker = false;

// The exception of the lowest worker that threw one.
class FirstError {
 public:
  void keep(int worker) {
    const std::lock_guard lock(mutex_);
    if (error_ && worker_ < worker) return;
    worker_ = worker;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  int worker_ = 0;
  std::exception_ptr error_;
};

// Runs `task(worker)` for every worker below `workers`, on the calling thread and the free threads
// of the pool.
template <typename Task>
void run_team(int workers, const Task& task) {
  FirstError error;
  const StopScope* const scope = StopScope::current();
  run_parts(workers, [&](int worker) {
    const bool outer = inside_worker;
    inside_worker = true;
    const StopScope* const outer_scope = StopScope::enter(scope);
    try {
      task(worker);
    } catch (...) {
      error.keep(worker);
    }
    StopScope::enter(outer_scope);
    inside_worker = outer;
  });
  error.rethrow();
}

}  // namespace

int available_threads() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int resolve_threads(int requested) {
  constexpr int kMaxThreads = 1024;
  if (requested < 0 || requested > kMaxThreads) {
    throw Error(ErrorCode::kUsage, to_text("threads: found ", requested, ", expected 0 to ",
                                           kMaxThreads, " (0 = all available)"));
  }
  return requested == 0 ? available_threads() : requested;
}

void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (count <= 0) return;
  check_stop_inside();
  const auto workers = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (workers <= 1 || inside_worker) {
    body(0, count, 0);
    return;
  }
  run_team(workers, [&](int worker) {
    const std::int64_t begin = count * worker / workers;
    const std::int64_t end = count * (worker + 1) / workers;
    if (begin < end) body(begin, end, worker);
  });
}

void parallel_items(std::int64_t count, int threads,
                    const std::function<void(std::int64_t, int)>& body) {
  if (count <= 0) return;
  const auto workers = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (workers <= 1 || inside_worker) {
    for (std::int64_t item = 0; item < count; ++item) body(item, 0);
    return;
  }
  // Items are handed out in order, so every item before a failed one is also run to its end.
  // Therefore the lowest failed item is the same for any number of threads.
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::int64_t failed = count;
  std::exception_ptr error;
  run_team(workers, [&](int worker) {
    std::int64_t item = count;
    try {
      for (item = next++; item < count; item = next++) body(item, worker);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (item >= failed) return;
      failed = item;
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

FlushDenormals::FlushDenormals() noexcept : saved_(FloatingPointMode::current()) {
  FloatingPointMode::set(FloatingPointMode::flushing(saved_));
}

FlushDenormals::~FlushDenormals() { FloatingPointMode::set(saved_); }

}  // namespace qtool
