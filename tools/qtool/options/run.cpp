#include "options/run.h"

#include "base/parallel.h"
#include "cli/value_checks.h"
#include "console.h"

namespace qtool::tool {
namespace {

constexpr std::int64_t kMaxThreads = 1024;

}  // namespace

void RunOptions::add_to(Command& command, ThreadsUse use) {
  if (use == ThreadsUse::kYes) {
    command.option("--threads", threads, "Threads to use")
        .placeholder("N")
        .check(whole_number(0, kMaxThreads))
        .show_default("0 = all")
        .group(kGeneralGroup);
  }
  command.flag("--json", json, "Print the result as JSON").group(kGeneralGroup);
  command.flag("-q,--quiet", quiet, "No notes, warnings or progress; short lists")
      .group(kGeneralGroup);
  command.flag("-v,--verbose", verbose, "Say more about what happens").group(kGeneralGroup);
  command.not_with("--verbose", {{"--quiet", {}}});
}

void RunOptions::apply() {
  threads = resolve_threads(threads);
  set_verbosity(quiet ? Verbosity::kQuiet : verbose ? Verbosity::kVerbose : Verbosity::kNormal);
}

ProgressStyle RunOptions::progress_style() const {
  return quiet ? ProgressStyle::kSilent : detect_progress_style();
}

}  // namespace qtool::tool
