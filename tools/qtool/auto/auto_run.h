#pragma once

#include "auto/auto_command.h"
#include "cli/command.h"

namespace qtool::tool {

/// Runs `auto` with `options`, which `command` has read: makes a model, compares it, and prints the
/// result and the next step. Throws what its steps throw; a failure after the first comparison is
/// thrown when the result of the first model is printed.
void run_auto(AutoCommand& options, Command& command);

}  // namespace qtool::tool
