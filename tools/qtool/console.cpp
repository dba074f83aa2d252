#include "console.h"

#include <poll.h>
#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/printable.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "signals.h"

namespace qtool::tool {
namespace {

Verbosity chosen_verbosity = Verbosity::kNormal;

// Any value of NO_COLOR but an empty one switches colours off, see https://no-color.org.
bool wants_colors() {
  const char* refused = std::getenv("NO_COLOR");
  const bool never = refused != nullptr && *refused != '\0';
  return !never && spdlog::details::os::in_terminal(stderr) &&
         spdlog::details::os::is_color_terminal();
}

enum class Written {
  kAll,
  kStopped,  ///< the user asked to stop, and nobody reads
  kFailed,   ///< errno says why
};

// A stream may be a full pipe that nobody reads. A signal ends a write() that already waits, but
// not a write() that begins to wait after the signal. So this function waits with poll() for a
// short time only, then checks whether the user asked to stop. It writes at most PIPE_BUF bytes at
// once, which always fit into a pipe that poll() reports as ready. A request to stop ends only the
// waiting: a reader that keeps up still gets everything.
Written write_all(int descriptor, std::string_view text) {
  constexpr int kWaitMs = 100;
  while (!text.empty()) {
    ::pollfd stream{descriptor, POLLOUT, 0};
    const int ready = ::poll(&stream, 1, kWaitMs);
    if (ready == 0 && interrupted()) return Written::kStopped;
    if (ready <= 0) continue;
    const std::size_t part = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t n = ::write(descriptor, text.data(), part);
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // another process made it non-blocking and filled it first
      static_cast<void>(::poll(nullptr, 0, 1));
    } else if (errno != EINTR) {
      return Written::kFailed;
    }
  }
  return Written::kAll;
}

// Like spdlog's own sink for stderr, but writes with write_stderr().
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    message.color_range_start = message.color_range_end = 0;
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text(line.data(), line.size());
    if (colors_ && message.color_range_end > message.color_range_start) {
      text.insert(message.color_range_end, "\033[m");
      text.insert(message.color_range_start, color_of(message.level));
    }
    write_stderr(text);
  }
  void flush_() override {}

  static const char* color_of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::warn:
        return "\033[33m\033[1m";
      case spdlog::level::err:
        return "\033[31m\033[1m";
      case spdlog::level::info:
        return "\033[32m";
      default:
        return "\033[36m";
    }
  }

  bool colors_ = wants_colors();
};

}  // namespace

void set_up_console() {
  const auto logger = std::make_shared<spdlog::logger>("qtool", std::make_shared<StderrSink>());
  logger->set_pattern("%n: %^%l%$: %v");
  spdlog::set_default_logger(logger);
  set_verbosity(Verbosity::kNormal);
}

void set_verbosity(Verbosity verbosity) {
  chosen_verbosity = verbosity;
  switch (verbosity) {
    case Verbosity::kQuiet:
      spdlog::set_level(spdlog::level::err);
      break;
    case Verbosity::kNormal:
      spdlog::set_level(spdlog::level::info);
      break;
    case Verbosity::kVerbose:
      spdlog::set_level(spdlog::level::debug);
      break;
  }
}

Verbosity verbosity() noexcept { return chosen_verbosity; }

void print_result(std::string_view text) {
  switch (write_all(STDOUT_FILENO, printable(text, LineFeeds::kKeep))) {
    case Written::kAll:
      return;
    case Written::kStopped:
      return stop_if_interrupted();
    case Written::kFailed:
      throw Error(ErrorCode::kIo,
                  to_text("standard output cannot be written: ", std::strerror(errno)));
  }
}

void write_stderr(std::string_view text) { static_cast<void>(write_all(STDERR_FILENO, text)); }

void note(std::string_view message) { spdlog::info("{}", printable(message)); }
void detail(std::string_view message) { spdlog::debug("{}", printable(message)); }
void warning(std::string_view message) { spdlog::warn("{}", printable(message)); }
void error(std::string_view message) { spdlog::error("{}", printable(message)); }

}  // namespace qtool::tool
