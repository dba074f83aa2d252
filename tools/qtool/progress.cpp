#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "console.h"
#include "qtool/base/error.h"
#include "signals.h"
#include "terminal.h"

namespace qtool::tool {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr auto kBarInterval = milliseconds(100);
constexpr auto kLineInterval = milliseconds(5000);
constexpr std::int64_t kWidestBar = 24;
constexpr std::int64_t kNarrowestBar = 8;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string rate_text(double per_second) {
  return to_text(to_fixed(per_second, per_second < 100.0 ? 1 : 0), "/s");
}

std::string time_text(double seconds) {
  if (seconds < 9.95) return to_text(to_fixed(seconds, 1), " s");
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return to_text(whole, " s");
  if (whole < 3600) return to_text(whole / 60, " min ", whole % 60, " s");
  return to_text(whole / 3600, " h ", whole % 3600 / 60, " min");
}

std::string time_left(std::int64_t done, std::int64_t total, double seconds) {
  const auto remaining = static_cast<double>(total - done);
  return to_text(time_text(seconds * remaining / static_cast<double>(done)), " left");
}

}  // namespace

ProgressStyle detect_progress_style() {
  const char* term = std::getenv("TERM");
  const bool redraws = term != nullptr && std::string_view(term) != "dumb";
  return redraws && ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

ProgressDisplay::ProgressDisplay(std::string task, std::string unit, ProgressStyle style,
                                 FinalLine final_line)
    : task_(std::move(task)), unit_(std::move(unit)), style_(style), final_line_(final_line) {}

ProgressDisplay::~ProgressDisplay() {
  if (bar_visible_) write_stderr(kClearLine);
}

Progress ProgressDisplay::callback() {
  return [this](std::int64_t done, std::int64_t total) {
    update(done, total);
    return interrupted() ? ProgressAnswer::kStop : ProgressAnswer::kContinue;
  };
}

void ProgressDisplay::remark(std::string_view text) {
  if (style_ == ProgressStyle::kSilent) return;
  if (std::exchange(bar_visible_, false)) write_stderr(kClearLine);
  write_stderr(to_text(task_, ": ", text, "\n"));
}

void ProgressDisplay::update(std::int64_t done, std::int64_t total) {
  if (style_ == ProgressStyle::kSilent) return;
  const Clock::time_point now = Clock::now();
  const double seconds = duration<double>(now - start_).count();
  const bool finished = done >= total;
  if (finished) {
    if (announced_total_ == total) return;
    announced_total_ = total;
    if (std::exchange(bar_visible_, false)) write_stderr(kClearLine);
    if (final_line_ == FinalLine::kKept) write_stderr(to_text(line(done, total, seconds), "\n"));
  } else if (style_ == ProgressStyle::kBar && (!bar_visible_ || now - shown_ >= kBarInterval)) {
    write_stderr(to_text(kClearLine, bar(done, total, seconds)));
    bar_visible_ = true;
    shown_ = now;
  } else if (style_ == ProgressStyle::kLines && now - shown_ >= kLineInterval) {
    write_stderr(to_text(line(done, total, seconds), "\n"));
    shown_ = now;
  }
}

std::string ProgressDisplay::bar(std::int64_t done, std::int64_t total, double seconds) const {
  const std::string count = to_text(done, "/", total);
  std::string rest;
  if (done > 0 && seconds > 0.0) {
    rest = to_text("  ", rate_text(static_cast<double>(done) / seconds), "  ",
                   time_left(done, total, seconds));
  }
  // A wrapped line could not be erased. The last column stays free, because some terminals wrap
  // when it is filled.
  constexpr std::size_t kUsual = 80;
  const auto columns =
      static_cast<std::int64_t>(terminal_columns(STDERR_FILENO).value_or(kUsual)) - 1;
  const std::int64_t fixed = std::ssize(task_) + std::ssize(count) + 4;  // blanks and brackets
  if (fixed + kNarrowestBar + std::ssize(rest) > columns) rest.clear();
  const std::int64_t width = std::min(kWidestBar, columns - fixed - std::ssize(rest));
  if (width < kNarrowestBar) {
    return to_text(task_, " ", count)
        .substr(0, static_cast<std::size_t>(std::max(columns, std::int64_t{0})));
  }
  const std::int64_t filled = width * std::min(done, total) / std::max<std::int64_t>(total, 1);
  return to_text(task_, " [", std::string(static_cast<std::size_t>(filled), '#'),
                 std::string(static_cast<std::size_t>(width - filled), '.'), "] ", count, rest);
}

std::string ProgressDisplay::line(std::int64_t done, std::int64_t total, double seconds) const {
  const double rate = seconds > 0.0 ? static_cast<double>(done) / seconds : 0.0;
  if (done >= total) {
    return to_text(task_, ": ", total, " ", unit_, " in ", to_fixed(seconds, 1), " s (",
                   rate_text(rate), ")");
  }
  std::string text = to_text(task_, ": ", done, " of ", total, " ", unit_);
  if (done > 0) text += to_text(", ", rate_text(rate), ", ", time_left(done, total, seconds));
  return text;
}

Progress progress_of_halves(Progress show, std::int64_t total) {
  return [show = std::move(show), total, before = std::int64_t{0}](std::int64_t done,
                                                                   std::int64_t of_half) mutable {
    const ProgressAnswer answer = show ? show(before + done, total) : ProgressAnswer::kContinue;
    if (done == of_half) before += of_half;
    return answer;
  };
}

}  // namespace qtool::tool
