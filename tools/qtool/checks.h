#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace qtool::tool {

/// Validators for the values of an option. Other values are refused while the command line is read,
/// in the form of the library's messages: `found 5000, expected 0 to 1024`.

/// A whole number in [least, most].
CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// A whole number from `least` on.
CLI::Validator whole_number_from(std::int64_t least);
/// A number that `fits`; `expected` says which do: `a number above 50 and up to 100`.
CLI::Validator number(std::function<bool(double)> fits, std::string expected);

/// An SQNR in decibels: a number from -200 to 200, as far as any is counted.
CLI::Validator decibels();

/// A time such as 90, 90s, 5m or 1h, from a millisecond on; seconds_of_time() reads it.
CLI::Validator time_span();
double seconds_of_time(const std::string& text);

/// One of a few words, which the shell can complete.
void take_words(Command& command, CLI::Option& option, std::vector<std::string> words);

/// A name of a list, of which `words` are offered to the shell. `canonical` returns the list's own
/// spelling, and throws Error for an unknown name.
void take_name(Command& command, CLI::Option& option, std::vector<std::string> words,
               std::function<std::string(std::string_view)> canonical);

}  // namespace qtool::tool
