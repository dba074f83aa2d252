#pragma once

#include <csignal>

namespace qtool {

/// Keeps signals that end or stop a program, or call a handler of it, from this thread for as long
/// as the object lives; they arrive afterwards. A thread that is started meanwhile never gets them.
/// Those of a fault (SIGSEGV and the like) and of a profiler arrive as ever.
class SignalsHeldBack {
 public:
  SignalsHeldBack() noexcept {
    ::sigset_t held;
    ::sigemptyset(&held);
    for (const int signal :
         {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE}) {
      ::sigaddset(&held, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;
  ~SignalsHeldBack() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  ::sigset_t before_ = {};
};

}  // namespace qtool
