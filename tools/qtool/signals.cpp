#include "signals.h"

#include <atomic>
#include <csignal>

#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

// The signal that arrived, 0 for none. Worker threads read it, so it has to be atomic; a handler
// may write it because it is lock-free.
std::atomic<int> stop_requested = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void request_stop(int signal) { stop_requested = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  // The default action returns after the first signal. System calls do not restart: one may wait
  // forever for a pipe that is not read.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return stop_requested != 0; }

int interrupted_exit_code() noexcept { return 128 + stop_requested.load(); }

void stop_if_interrupted() {
  if (interrupted()) throw Error(ErrorCode::kCancelled, "stopped on request");
}

}  // namespace qtool::tool
