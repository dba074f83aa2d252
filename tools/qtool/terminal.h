#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qtool::tool {

/// The number of columns of the terminal behind a descriptor: COLUMNS if it is set, also for a file
/// or pipe; otherwise the number that the terminal reports.
std::optional<std::size_t> terminal_columns(int descriptor);

/// Wraps `text` into lines of at most `width` columns. All lines but the first begin with `indent`
/// blanks. A longer word stays whole, and newlines are kept. `joint` ends every line that is
/// continued: ` \` if the text is a command.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width,
                    std::string_view joint = "");

/// The number of columns for results for people on standard output; kAnyWidth if it is not known,
/// as for a file or pipe.
std::size_t result_columns();
/// Writes a result for people with print_result(). Lines that are too long are wrapped.
void print_text(std::string_view text);

}  // namespace qtool::tool
