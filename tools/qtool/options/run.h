#pragma once

#include "cli/command.h"
#include "progress.h"
#include "report/text_table.h"

namespace qtool::tool {

/// Whether a command computes, so that it takes --threads.
enum class ThreadsUse { kYes, kNo };

/// Flags that every command has: --threads, --json, --quiet, --verbose.
struct RunOptions {
  int threads = 0;  ///< 0 = all available
  bool json = false;
  bool quiet = false;
  bool verbose = false;

  void add_to(Command& command, ThreadsUse use = ThreadsUse::kYes);
  /// Makes --quiet and --verbose take effect and checks --threads. Call first in a command.
  void apply();
  /// How progress appears under these flags.
  [[nodiscard]] ProgressStyle progress_style() const;
  /// Whether long lists of the result are shortened: not with --verbose.
  [[nodiscard]] ListLength list_length() const {
    return verbose ? ListLength::kFull : ListLength::kShort;
  }
  /// Whether lists that are the result itself are shortened: only with --quiet.
  [[nodiscard]] ListLength quiet_length() const {
    return quiet ? ListLength::kShort : ListLength::kFull;
  }
};

}  // namespace qtool::tool
