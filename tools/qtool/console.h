#pragma once

#include <string_view>

namespace qtool::tool {

/// How much goes to stderr besides errors. Results go to stdout whatever the level.
enum class Verbosity {
  kQuiet,    ///< errors only
  kNormal,   ///< warnings, notes and progress
  kVerbose,  ///< also details that help to find out what happened
};

// What the program returns to the shell; documented in `qtool --help`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // and 128 + the number of a signal that ended the work

/// Sends log messages to stderr as `qtool: warning: ...`, in colour if that is a terminal and
/// NO_COLOR is not set.
void set_up_console();
void set_verbosity(Verbosity verbosity);
Verbosity verbosity() noexcept;

// All output of the program goes through here; printable() makes names in it harmless.

/// Writes a result, which may have many lines, to stdout. Throws Error(kIo) when it cannot be
/// written (a full disk), so that a script never takes a cut-off result for a whole one, and
/// Error(kCancelled) when the user asks to stop while nobody reads the pipe.
void print_result(std::string_view text);

/// Writes text to stderr as it is. What cannot be written is lost: so is the rest when the user
/// asks to stop while nobody reads the pipe.
void write_stderr(std::string_view text);

// One line each.
void note(std::string_view message);     ///< something useful that the user did not ask for
void detail(std::string_view message);   ///< shown with --verbose
void warning(std::string_view message);  ///< the result may not be what the user wants
void error(std::string_view message);

}  // namespace qtool::tool
