#pragma once

#include <string>

#include "program/program.h"

namespace qtool::tool {

// What a command line is refused for, in the words of the rest of the program: what was found, what
// is expected. `given` is the command it names, null without one.

/// A word that is no command, option or argument.
std::string unknown_word_text(const Program& program, const Command* given,
                              const std::string& word);

/// An option that has more values than it takes, or none. `message` is what the reader of command
/// lines says of it, which names neither these values nor what is expected.
std::string wrong_count_text(const Program& program, const Command* given,
                             const std::string& message);

}  // namespace qtool::tool
