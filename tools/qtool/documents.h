#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command.h"

namespace qtool::tool {

/// The manual page of the program, in the man macros of troff. Made from the definitions of the
/// options, as everything here.
std::string man_page(const CLI::App& program);
/// The manual page of one command.
std::string man_page(const Command& command);

/// Completion for a shell: `bash`, `zsh` or `fish`.
std::string completion(const CLI::App& program, const std::string& shell);

}  // namespace qtool::tool
