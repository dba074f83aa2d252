#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// A word as a POSIX shell takes it: in single quotes unless it is plain.
std::string shell_word(std::string_view word);

/// Words as one line that a shell takes apart into just these.
std::string shell_line(std::span<const std::string> words);

}  // namespace qtool
