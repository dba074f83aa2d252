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

// Loading the libraries takes tens of milliseconds, and each library runs code of its own first.
// This function runs before the code of all libraries. With a sanitizer it is left out, because the
// sanitizer is not ready at that time.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define QTOOL_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QTOOL_SANITIZED
#endif
#if !defined(QTOOL_SANITIZED)
void catch_interrupts_early(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  catch_interrupts();
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const run_first)(int, char**, char**) = catch_interrupts_early;
#endif

}  // namespace

void catch_interrupts() {
  // The system sends SIGXFSZ when a file grows beyond a limit of the process. If the signal is
  // ignored, the write fails with an error instead, like a write to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  if (interrupted()) return;  // the next signal ends the program
  struct sigaction action = {};
  action.sa_handler = request_stop;
  // The default action is restored after the first signal. System calls do not restart, because a
  // call may wait forever for a pipe that nobody reads.
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
