#include "qtool/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#ifndef QTOOL_STD_THREADS
#include <omp.h>
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "qtool/base/error.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

thread_local bool inside_worker = false;

// Runs `task(worker)` for every worker below `workers`, each on its own thread of the pool.
template <typename Task>
void run_team(int workers, const Task& task) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  const auto guarded = [&](int worker) {
    const bool outer = inside_worker;
    inside_worker = true;
    try {
      task(worker);
    } catch (...) {
      errors[static_cast<std::size_t>(worker)] = std::current_exception();
    }
    inside_worker = outer;
  };
#ifdef QTOOL_STD_THREADS
  std::vector<std::jthread> threads;
  for (int worker = 1; worker < workers; ++worker) threads.emplace_back(guarded, worker);
  guarded(0);
  threads.clear();
#else
  // A loop over the workers, not the team's own numbering: OpenMP may grant fewer threads.
#pragma omp parallel for num_threads(workers) schedule(static, 1)
  for (int worker = 0; worker < workers; ++worker) guarded(worker);
#endif
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace

int available_threads() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int resolve_threads(int requested) {
  constexpr int kMostThreads = 1024;
  if (requested < 0 || requested > kMostThreads) {
    throw Error(ErrorCode::kUsage, concat("threads: found ", requested, ", expected 0 to ",
                                          kMostThreads, " (0 = all available)"));
  }
  return requested == 0 ? available_threads() : requested;
}

void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (count <= 0) return;
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
  std::atomic<std::int64_t> next{0};
  run_team(workers, [&](int worker) {
    try {
      for (std::int64_t item = next++; item < count; item = next++) body(item, worker);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

FlushDenormals::FlushDenormals() noexcept {
#if defined(__SSE2__)
  saved_ = _mm_getcsr();
  _mm_setcsr(saved_ | 0x8040U);  // flush to zero, denormals are zero
#endif
}

FlushDenormals::~FlushDenormals() {
#if defined(__SSE2__)
  _mm_setcsr(saved_);
#endif
}

TeamSize::TeamSize([[maybe_unused]] int threads) noexcept {
#ifndef QTOOL_STD_THREADS
  saved_ = omp_get_max_threads();
  omp_set_num_threads(threads);
#endif
}

TeamSize::~TeamSize() {
#ifndef QTOOL_STD_THREADS
  omp_set_num_threads(saved_);
#endif
}

}  // namespace qtool
