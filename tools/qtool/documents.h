#pragma once

#include <string>

#include "cli/program.h"

namespace qtool::tool {

/// The manual page of the program, in the man macros of troff. Like the other documents here, it is
/// made from the definitions of the options.
std::string man_page(const Program& program);
/// The manual page of one command.
std::string man_page(const Program& program, const Command& command);

/// A completion script for a shell: `bash`, `zsh` or `fish`.
std::string completion(const Program& program, const std::string& shell);

}  // namespace qtool::tool
