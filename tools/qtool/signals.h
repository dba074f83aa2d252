#pragma once

namespace qtool::tool {

/// The program calls it as it begins, where it can before its libraries are ready. From now on the
/// first Ctrl-C (or SIGTERM) only asks the running work to stop; a second one ends the program at
/// once. A system call that waits returns with EINTR and is not resumed. A write beyond a limit on
/// the size of files fails instead of ending the program.
void catch_interrupts();

/// Whether the user asked to stop.
bool interrupted() noexcept;

/// What the program then returns to the shell: 128 + the signal's number, as shells expect it.
int interrupted_exit_code() noexcept;

/// Throws Error(kCancelled) when the user asked to stop; called between the phases of a command.
void stop_if_interrupted();

}  // namespace qtool::tool
