#pragma once

#include <csignal>

namespace qtool {

/// Blocks signals that end or stop a program, or call one of its handlers, on this thread while the
/// object lives. They arrive afterwards. A thread that is started in the meantime never gets them.
/// Signals of a fault (SIGSEGV and the like) and of a profiler are not blocked.
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
