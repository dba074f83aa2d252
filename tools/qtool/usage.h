#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace qtool::tool {

/// The command that was given, or the program.
const CLI::App& innermost(const CLI::App& app);

/// Whether an option takes no value.
bool is_flag(const CLI::Option& option);

/// What a command line is refused for, in the words of the rest of the program: what was found,
/// what is expected.
std::string usage_text(const CLI::App& app, const CLI::ParseError& problem);

/// Values of flags that are none, as in --json=maybe, are told like those of other options.
void check_flags(CLI::App& app);

}  // namespace qtool::tool
