#include "console.h"

#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/printable.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "signals.h"

namespace qtool::tool {
namespace {

Verbosity chosen_verbosity = Verbosity::kNormal;

// https://no-color.org: any value but an empty one.
spdlog::color_mode wanted_colors() {
  const char* refused = std::getenv("NO_COLOR");
  const bool never = refused != nullptr && *refused != '\0';
  return never ? spdlog::color_mode::never : spdlog::color_mode::automatic;
}

}  // namespace

void set_up_console() {
  const auto logger = spdlog::stderr_color_mt("qtool", wanted_colors());
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
  const std::string shown = printable(text, LineFeeds::kKeep);
  std::string_view rest = shown;
  while (!rest.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // another process made this pipe non-blocking
      ::pollfd pipe{STDOUT_FILENO, POLLOUT, 0};
      static_cast<void>(::poll(&pipe, 1, -1));
    } else if (errno != EINTR) {
      throw Error(ErrorCode::kIo,
                  concat("standard output cannot be written: ", std::strerror(errno)));
    }
    if (!rest.empty()) stop_if_interrupted();  // the pipe may never be read
  }
}

void note(std::string_view message) { spdlog::info("{}", printable(message)); }
void detail(std::string_view message) { spdlog::debug("{}", printable(message)); }
void warning(std::string_view message) { spdlog::warn("{}", printable(message)); }
void error(std::string_view message) { spdlog::error("{}", printable(message)); }

}  // namespace qtool::tool
