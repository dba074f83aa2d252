#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <limits>
#include <thread>
#include <vector>

#include "base/floating_point_mode.h"
#include "base/parallel.h"

namespace qtool {
namespace {

TEST(RunParts, CallsEachPartOnceForManyCallersAtOnce) {
  constexpr int kCallers = 8;
  constexpr int kRounds = 300;
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < kRounds; ++round) {
        const int parts = 1 + (caller + round) % 7;
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(parts));
        run_parts(parts, [&](int part) { ++calls[static_cast<std::size_t>(part)]; });
        for (const auto& count : calls) wrong += count != 1 ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// On a busy machine the pool's threads may not get a core for many milliseconds.
TEST(RunParts, DoesNotWaitForThreadsThatHaveNotBegun) {
  constexpr int kHeld = 4;
  std::latch held(kHeld);
  std::latch release(1);
  std::thread holder([&] {
    run_parts(kHeld, [&](int) {
      held.count_down();
      release.wait();
    });
  });
  held.wait();  // now at least kHeld - 1 threads are busy until the release
  std::atomic<int> sum{0};
  run_parts(3, [&](int part) { sum += part; });
  EXPECT_EQ(sum, 3);
  release.count_down();
  holder.join();
}

TEST(RunParts, ServesMoreCallersThanItHasPlacesFor) {
  constexpr int kCallers = 80;
  std::latch started(kCallers);
  std::latch release(1);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      run_parts(2, [&](int part) {
        if (part == 0) {
          started.count_down();
          release.wait();
        }
        ++calls;
      });
    });
  }
  started.wait();
  release.count_down();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 2 * kCallers);
}

// If denormals were flushed on the calling thread only, results would depend on which thread
// computed them.
TEST(RunParts, RunsInTheCallersFloatingPointMode) {
  volatile float tiny = std::numeric_limits<float>::min();
  if (FloatingPointMode::flushing(0) == 0) GTEST_SKIP() << "no such mode on this architecture";
  const FlushDenormals flush;
  std::atomic<int> denormals{0};
  for (int round = 0; round < 200; ++round) {
    run_parts(4, [&](int) { denormals += tiny / 2.0F != 0.0F ? 1 : 0; });
  }
  EXPECT_EQ(denormals, 0);
}

TEST(FloatingPointMode, IsAsBeforeAfterTheGuard) {
  const unsigned before = FloatingPointMode::current();
  { const FloatingPointMode::Guard guard(FloatingPointMode::flushing(before)); }
  EXPECT_EQ(FloatingPointMode::current(), before);
}

}  // namespace
}  // namespace qtool
