#pragma once

#include <string>

#include "cli/program.h"

namespace qtool::tool {

// Messages for refused command lines, in the form of the program's other messages: what was found,
// and what is expected. `given` is the command that the line names, or null.

/// The message for a word that is not a command, option or argument.
std::string unknown_word_text(const Program& program, const Command* given,
                              const std::string& word);

/// The message for an option with too many values or none. `message` is the message of CLI11, which
/// names neither the values nor what is expected.
std::string wrong_count_text(const Program& program, const Command* given,
                             const std::string& message);

}  // namespace qtool::tool
