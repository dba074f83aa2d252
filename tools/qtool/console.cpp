#include "console.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "qtool/base/error.h"

namespace qtool::tool {
namespace {

Verbosity chosen = Verbosity::kNormal;

}  // namespace

void set_up_console() {
  const auto logger = spdlog::stderr_color_mt("qtool");
  logger->set_pattern("%n: %^%l%$: %v");
  spdlog::set_default_logger(logger);
  set_verbosity(Verbosity::kNormal);
}

void set_verbosity(Verbosity verbosity) {
  chosen = verbosity;
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

Verbosity verbosity() noexcept { return chosen; }

void print_result(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kIo, "standard output cannot be written");
  }
}

void note(std::string_view message) { spdlog::info("{}", message); }
void detail(std::string_view message) { spdlog::debug("{}", message); }
void warning(std::string_view message) { spdlog::warn("{}", message); }
void error(std::string_view message) { spdlog::error("{}", message); }

}  // namespace qtool::tool
