#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qtool::tool {

/// Columns of the terminal behind a descriptor: COLUMNS if it is set, also for a file or pipe, else
/// what the terminal says.
std::optional<std::size_t> terminal_columns(int descriptor);

/// `text` in lines of at most `width` columns, all but the first behind `indent` blanks; a word
/// that is longer stays whole. A newline stays one. `joint` ends every line that goes on: ` \`
/// where the text is a command.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width,
                    std::string_view joint = "");

/// A result for people, for which standard output has this many columns; kAnyWidth in a file or
/// pipe.
std::size_t result_columns();
/// Writes a result for people: print_result() of its lines, those that are too long wrapped.
void print_text(std::string_view text);

}  // namespace qtool::tool
