#include "base/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/floating_point_mode.h"
#include "base/signal_mask.h"

namespace qtool {
namespace {

using Task = std::function<void(int)>;
using Clock = std::chrono::steady_clock;

// The time that a waiting thread spins before it sleeps. It is longer than the gap between two
// parallel operators of a network, and too short to slow other processes down noticeably.
constexpr std::chrono::microseconds kSpin{150};

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done()` is true, but no longer than kSpin. Returns the last result of `done()`.
template <typename Done>
bool spin_until(const Done& done) {
  constexpr int kLooksPerTime = 32;  // reading the clock costs as much as several calls of done()
  const Clock::time_point end = Clock::now() + kSpin;
  do {
    for (int look = 0; look < kLooksPerTime; ++look) {
      if (done()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return done();
}

// The state of a task in one atomic word: the task's number, its number of parts, and the next
// part. The task's number ensures that a thread takes a part only if the part still belongs to the
// task that the thread has read.
struct Ticket {
  static constexpr int kPartBits = 16;
  static constexpr std::uint64_t kPartMask = (1U << kPartBits) - 1;

  std::uint64_t word;

  [[nodiscard]] int next() const { return static_cast<int>(word & kPartMask); }
  [[nodiscard]] int parts() const { return static_cast<int>((word >> kPartBits) & kPartMask); }
  [[nodiscard]] bool open() const { return next() < parts(); }
  // The ticket of the next task; its part 0 belongs to the caller.
  [[nodiscard]] Ticket following(int parts) const {
    const std::uint64_t count = (word >> (2 * kPartBits)) + 1;
    return {(count << (2 * kPartBits)) | (static_cast<std::uint64_t>(parts) << kPartBits) | 1U};
  }
};

// A slot for one caller's task. Slots are never freed, so a late read of a slot is harmless.
struct alignas(64) Slot {
  std::atomic<bool> taken{false};
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<const Task*> task{nullptr};
  std::atomic<unsigned> mode{0};   // the caller's floating-point mode
  std::atomic<int> unfinished{0};  // number of parts

  // Runs one part that no thread has begun, if there is one.
  bool run_one() {
    Ticket seen{ticket.load(std::memory_order_acquire)};
    while (seen.open()) {
      const Task* const work = task.load(std::memory_order_relaxed);
      const unsigned wanted_mode = mode.load(std::memory_order_relaxed);
      // The task lives until this part has ended. If the exchange succeeds, the values read above
      // belong to it.
      if (!ticket.compare_exchange_weak(seen.word, seen.word + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        continue;
      }
      const int part = seen.next();
      {
        const FloatingPointMode::Guard guard(wanted_mode);
        (*work)(part);
      }
      finish_one();
      return true;
    }
    return false;
  }

  void finish_one() {
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_one();
  }
};

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    stop_.store(true);
    ring(static_cast<int>(threads_.size()));
    for (std::thread& thread : threads_) thread.join();
  }

  void run(int parts, const Task& task) {
    Slot* const slot = free_slot();
    if (slot == nullptr) {  // all slots are in use: this caller works alone
      for (int part = 0; part < parts; ++part) task(part);
      return;
    }
    grow(parts - 1);
    slot->task.store(&task, std::memory_order_relaxed);
    slot->mode.store(FloatingPointMode::current(), std::memory_order_relaxed);
    slot->unfinished.store(parts, std::memory_order_relaxed);
    const Ticket last{slot->ticket.load(std::memory_order_relaxed)};
    slot->ticket.store(last.following(parts).word, std::memory_order_release);
    ring(parts - 1);
    task(0);
    slot->finish_one();
    while (slot->run_one()) {
    }
    const auto done = [&] { return slot->unfinished.load(std::memory_order_acquire) == 0; };
    if (!spin_until(done)) {
      for (int left = slot->unfinished.load(); left != 0; left = slot->unfinished.load()) {
        slot->unfinished.wait(left);
      }
    }
    slot->taken.store(false, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kSlots = 64;

  Slot* free_slot() {
    for (Slot& slot : slots_) {
      if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true)) {
        return &slot;
      }
    }
    return nullptr;
  }

  void grow(int threads) {
    if (size_.load(std::memory_order_acquire) >= threads) return;
    const std::lock_guard lock(growing_);
    while (size_.load(std::memory_order_relaxed) < threads && !stop_) {
      // Signals are meant for the caller: a signal that arrives on a thread of the pool would not
      // interrupt the caller's waits.
      const SignalsHeldBack held_back;
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        return;  // the system grants no more threads: the caller runs their parts
      }
      size_.fetch_add(1, std::memory_order_release);
    }
  }

  // Wakes sleeping threads to run `parts` parts. Spinning threads notice the new task by
  // themselves.
  void ring(int parts) {
    bell_.fetch_add(1);
    const int sleepers = sleeping_.load();
    if (sleepers == 0) return;
    const int wanted = stop_ ? sleepers : std::min(parts - spinning_.load(), sleepers);
    if (wanted >= sleepers) {
      bell_.notify_all();
    } else {
      for (int i = 0; i < wanted; ++i) bell_.notify_one();
    }
  }

  bool run_any() {
    bool any = false;
    for (Slot& slot : slots_) {
      while (slot.run_one()) any = true;
    }
    return any;
  }

  void work() {
    while (!stop_) {
      const unsigned heard = bell_.load();
      if (run_any()) continue;
      const auto rung = [&] { return bell_.load() != heard; };
      ++spinning_;
      const bool awake = spin_until(rung);
      --spinning_;
      if (awake) continue;
      ++sleeping_;
      if (!stop_) bell_.wait(heard);
      --sleeping_;
    }
  }

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<unsigned> bell_{0};
  alignas(64) std::atomic<int> spinning_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> size_{0};
  std::mutex growing_;
  std::vector<std::thread> threads_;
};

Pool& pool() {
  static Pool pool;
  return pool;
}

}  // namespace

void run_parts(int parts, const Task& task) {
  QTOOL_CHECK(parts >= 1 && parts < (1 << Ticket::kPartBits));
  if (parts == 1) return task(0);
  pool().run(parts, task);
}

}  // namespace qtool
