#include "options_run.h"

#include "base/parallel.h"
#include "checks.h"
#include "console.h"

namespace qtool::tool {
namespace {

constexpr const char* kGeneral = "General";
constexpr std::int64_t kMaxThreads = 1024;

}  // namespace

void RunOptions::add_to(Command& command, ThreadsUse use) {
  if (use == ThreadsUse::kYes) {
    command.add_option("--threads", threads, "Threads to use")
        ->type_name("N")
        ->check(whole_number(0, kMaxThreads))
        ->default_str("0 = all")
        ->group(kGeneral);
  }
  command.add_flag("--json", json, "Print the result as JSON")->group(kGeneral);
  command.add_flag("-q,--quiet", quiet, "No notes, warnings or progress")->group(kGeneral);
  command.add_flag("-v,--verbose", verbose, "Say more about what happens")->group(kGeneral);
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
