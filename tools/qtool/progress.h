#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "qtool/base/progress.h"

namespace qtool::tool {

/// How progress appears on stderr.
enum class ProgressStyle {
  kBar,     ///< one line redrawn in place, for terminals
  kLines,   ///< a plain line every few seconds and one at the end, for logs
  kSilent,  ///< nothing
};

/// A bar when stderr is a terminal that can redraw a line, plain lines otherwise.
ProgressStyle detect_progress_style();

/// Whether a summary line remains when the work is done.
enum class FinalLine { kKept, kNone };

/// Shows the progress of long work: share, rate and time left. Its callback also stops the work
/// after Ctrl-C.
class ProgressDisplay {
 public:
  /// `task` starts the line ("calibrate"), `unit` names the items ("images").
  ProgressDisplay(std::string task, std::string unit, ProgressStyle style,
                  FinalLine final_line = FinalLine::kKept);
  /// Removes the bar from the terminal, so that the next output starts on a clean line.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// The callback to hand to the library; the display must outlive it.
  [[nodiscard]] Progress callback();
  /// Prints a line of its own between the lines of the progress. Call only from the thread that
  /// reports the progress.
  void remark(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  void update(std::int64_t done, std::int64_t total);
  [[nodiscard]] std::string bar(std::int64_t done, std::int64_t total, double seconds) const;
  [[nodiscard]] std::string line(std::int64_t done, std::int64_t total, double seconds) const;

  std::string task_;
  std::string unit_;
  ProgressStyle style_;
  FinalLine final_line_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  std::int64_t announced_total_ = -1;
  bool bar_visible_ = false;
};

/// The progress of work that runs two halves of `total` items one after the other, and reports each
/// half from 0. `show`: what it is shown by; may be empty.
Progress progress_of_halves(Progress show, std::int64_t total);

}  // namespace qtool::tool
