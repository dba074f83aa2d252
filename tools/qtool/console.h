#pragma once

#include <string_view>

namespace qtool::tool {

/// How much goes to stderr besides errors. Results go to stdout whatever the level.
enum class Verbosity {
  kQuiet,    ///< errors only
  kNormal,   ///< warnings, notes and progress
  kVerbose,  ///< also details that help to find out what happened
};

/// Sends log messages to stderr as `qtool: warning: ...`, in colour if that is a terminal and
/// NO_COLOR is not set.
void set_up_console();
void set_verbosity(Verbosity verbosity);
Verbosity verbosity() noexcept;

// All output of the program goes through these functions. Except in write_stderr(), printable()
// makes names in the text harmless.

/// Writes a result, which may have many lines, to stdout. Throws Error(kIo) when it cannot be
/// written (a full disk), so that a script never takes a cut-off result for a whole one, and
/// Error(kCancelled) when the user asks to stop while nobody reads the pipe.
void print_result(std::string_view text);

/// Writes text to stderr unchanged. Text that cannot be written is lost, including the rest of the
/// text when the user asks to stop while nobody reads the pipe.
void write_stderr(std::string_view text);

// Each of these functions prints one line.
void note(std::string_view message);     ///< something useful that the user did not ask for
void detail(std::string_view message);   ///< shown with --verbose
void warning(std::string_view message);  ///< the result may not be what the user wants
void error(std::string_view message);

}  // namespace qtool::tool
