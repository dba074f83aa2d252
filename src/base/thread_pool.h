#pragma once

#include <functional>

namespace qtool {

/// Calls `task(part)` once for each part of [0, parts), on the calling thread and on threads of the
/// process's only pool. A pool of fewer than `parts` - 1 threads grows to that number. Returns when
/// all parts have ended.
/// `task` must not throw.
///
/// A part goes to whichever thread asks first. The caller starts with part 0 and then takes every
/// part that no other thread has begun: on a busy machine, where the other threads do not get a
/// core, it does all the work alone and waits for none of them. Waiting threads spin for a short
/// time and then sleep (docs/decisions/one-pool.md has the measurements).
///
/// Any number of threads may call this at the same time. Parts run in the caller's floating-point
/// mode.
/// Cost: about 0.2 us if the pool's threads are awake, and a system call for each sleeping thread.
void run_parts(int parts, const std::function<void(int)>& task);

}  // namespace qtool
