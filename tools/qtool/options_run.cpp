#include "options_run.h"

#include "console.h"
#include "qtool/base/parallel.h"

namespace qtool::tool {

void RunOptions::add_to(CLI::App& command) {
  command.add_option("--threads", threads, "Threads to use; 0 = all available")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group("Running");
  command.add_flag("--json", json, "Print the result as JSON")->group("Running");
  CLI::Option* hush =
      command.add_flag("-q,--quiet", quiet, "No notes, warnings or progress")->group("Running");
  command.add_flag("-v,--verbose", verbose, "Say more about what happens")
      ->group("Running")
      ->excludes(hush);
}

void RunOptions::apply() {
  threads = resolve_threads(threads);
  set_verbosity(quiet ? Verbosity::kQuiet : verbose ? Verbosity::kVerbose : Verbosity::kNormal);
}

ProgressStyle RunOptions::progress_style() const {
  return quiet ? ProgressStyle::kSilent : detect_progress_style();
}

}  // namespace qtool::tool
