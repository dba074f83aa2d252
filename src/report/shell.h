#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// A word quoted for a POSIX shell: in single quotes unless no character needs them.
std::string shell_word(std::string_view word);

/// The words as one line that a shell splits into exactly these words.
std::string shell_line(std::span<const std::string> words);

}  // namespace qtool
