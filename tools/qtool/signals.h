#pragma once

namespace qtool::tool {

/// Called when the program begins, if possible before its libraries are initialized. After this
/// call, the first Ctrl-C (or SIGTERM) only asks the running work to stop; a second one ends the
/// program at once. A waiting system call returns with EINTR and is not resumed. A write beyond the
/// limit on the size of files fails instead of ending the program.
void catch_interrupts();

/// Whether the user asked to stop.
bool interrupted() noexcept;

/// The exit code after a request to stop: 128 + the signal's number, as shells expect it.
int interrupted_exit_code() noexcept;

/// Throws Error(kCancelled) when the user asked to stop. Called between the phases of a command.
void stop_if_interrupted();

}  // namespace qtool::tool
