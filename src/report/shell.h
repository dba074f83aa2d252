#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qtool {

/// A word quoted for a POSIX shell: in single quotes unless no character needs them.
std::string shell_word(std::string_view word);

/// The words as one line that a shell splits into exactly these words.
std::string shell_line(std::span<const std::string> words);

/// shell_line() with names made harmless by printable(), for people to paste.
std::string printable_line(std::vector<std::string> words);

/// Adds an option and its value to the words of a command line. A value that begins with - is
/// joined with =, because a separate word would be taken for an option.
void add_option(std::string_view option, const std::string& value, std::vector<std::string>& words);

}  // namespace qtool
